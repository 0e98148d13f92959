import Glibc
import Synchronization
import Transport

/// The bandwidth that a running rclone was told last.
final class RcloneLimits: Sendable {
    private struct Told: Equatable {
        let process: pid_t
        /// nil if telling it has failed.
        var bandwidth: Bandwidth?
    }

    private let told = Mutex<Told?>(nil)

    /// Returns whether the process is to be told, and notes that it is. One that has just started has no
    /// limit.
    func begin(_ bandwidth: Bandwidth, of process: pid_t) -> Bool {
        told.withLock { told in
            let next = Told(process: process, bandwidth: bandwidth)
            defer { told = next }
            return told?.process == process ? told != next : bandwidth != .unlimited
        }
    }

    /// Notes that telling it has failed.
    func forget() { told.withLock { $0?.bandwidth = nil } }

    /// In rclone's form: upload before download.
    static func text(_ bandwidth: Bandwidth) -> String {
        if bandwidth == .unlimited { return "off" }
        return [bandwidth.up, bandwidth.down].map { $0.map { "\($0)B" } ?? "off" }
            .joined(separator: ":")
    }
}
