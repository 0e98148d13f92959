import Foundation
import SystemCalls

/// Removes a mount whose daemon is dead. Its pending changes are in the state directory.
enum DeadMount {
    /// - Throws: `CommandFailure` with the system's reason.
    static func remove(_ mountPoint: String) async throws {
        // Even while files are open, as no daemon serves them any more.
        let reason =
            geteuid() == 0
            ? detach(mountPoint)
            : try await onOwnThread { try runFusermount(mountPoint) }
        if let reason {
            throw CommandFailure(
                what: "unmount \(mountPoint)", why: reason,
                remedy: "try `fusermount3 -u -z \(mountPoint)` as the user who mounted")
        }
    }

    /// - Returns: The reason of a failure.
    private static func detach(_ mountPoint: String) -> String? {
        umount2(mountPoint, Int32(MNT_DETACH | UMOUNT_NOFOLLOW)) == 0
            ? nil : "\(SystemError.last)".lowercased()
    }

    /// Only this set-user-id program can unmount for an ordinary user.
    private static func runFusermount(_ mountPoint: String) throws -> String? {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["fusermount3", "-u", "-z", "--", mountPoint]
        let output = Pipe()
        process.standardError = output
        try process.run()
        let text = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        guard process.terminationStatus != 0 else { return nil }
        return String(decoding: text, as: UTF8.self).split(separator: "\n").first.map(String.init)
            ?? "fusermount3 failed"
    }
}
