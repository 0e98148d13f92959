import CLinux
import Foundation
import Glibc
import SystemCalls

/// A process that was killed or is exiting, but has not ended.
///
/// Its first thread may be a zombie long before the last one has finished a write to the disk. Until
/// then, all of its files stay open and locked.
struct EndingProcess {
    private let processID: Int32

    /// - Returns: nil for a running process that is not ending.
    init?(_ processID: Int32) {
        guard Self.isEnding(processID) else { return nil }
        self.processID = processID
    }

    /// - Returns: Whether the process, with all its threads, ends within that time.
    func isGone(withinMilliseconds limit: Int32) -> Bool {
        // If it cannot be opened, it has ended.
        guard let process = try? retryingInterrupts({ apus_pidfd_open(processID) }) else {
            return true
        }
        let descriptor = Descriptor(adopting: process)
        return PosixIO.poll(
            descriptor.rawValue, for: POLLIN, until: .now + .milliseconds(Int64(limit)))
    }

    private static func isEnding(_ processID: Int32) -> Bool {
        guard let line = try? String(contentsOfFile: "/proc/\(processID)/stat", encoding: .utf8),
            let name = line.lastIndex(of: ")")
        else { return true }
        // proc_pid_stat(5): field 3 follows the name.
        let fields = line[name...].split(separator: " ").dropFirst()
        func field(_ number: Int) -> UInt64 {
            UInt64(fields.dropFirst(number - 3).first ?? "") ?? 0
        }
        let exiting: UInt64 = 0x4  // PF_EXITING
        let killed: UInt64 = 1 << UInt64(SIGKILL - 1)
        return field(9) & exiting != 0 || field(31) & killed != 0
    }
}
