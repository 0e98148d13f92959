import CLinux
import Control
import Foundation
import SystemCalls

/// Waits until a mount and its daemon have ended.
///
/// Created before the request to unmount, so that it neither misses a daemon that ends at once nor
/// mistakes another process with the same number for it.
final class MountWaiter: Sendable {
    private let mountPoint: String
    /// The number of mounts stacked at this place at the start.
    private let countBefore: Int
    /// Polls readable once the daemon has ended; -1 if it already has.
    private let daemon: Int32

    /// - Parameter pid: nil for a mount whose daemon is dead.
    init(mountPoint: String, pid: Int32?) throws {
        self.mountPoint = mountPoint
        countBefore = Self.count(at: mountPoint, in: try MountTable.current())
        daemon = pid.map(apus_pidfd_open) ?? -1
    }

    deinit {
        if daemon >= 0 { close(daemon) }
    }

    /// - Throws: `CommandFailure` if that takes longer than `timeout`.
    func wait(timeout: Duration) async throws {
        let isGone = try await onOwnThread { [self] in
            let deadline = ContinuousClock.now + timeout
            return try mountEnds(by: deadline)
                && (daemon < 0 || PosixIO.poll(daemon, for: POLLIN, until: deadline))
        }
        guard isGone else {
            throw CommandFailure(
                what: "unmount \(mountPoint)", why: "its daemon takes longer than expected to end",
                remedy: "see the log in its state directory")
        }
    }

    private func mountEnds(by deadline: ContinuousClock.Instant) throws -> Bool {
        // proc(5): the file polls ready after each change of the table.
        let table = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC)
        defer { if table >= 0 { close(table) } }
        while try Self.count(at: mountPoint, in: MountTable.current()) >= countBefore {
            guard ContinuousClock.now < deadline,
                PosixIO.poll(table, for: POLLPRI, until: deadline)
            else { return false }
        }
        return true
    }

    private static func count(at mountPoint: String, in table: MountTable) -> Int {
        table.entries.count { $0.mountPoint == mountPoint }
    }
}
