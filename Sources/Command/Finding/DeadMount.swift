import Foundation

/// Takes away a mount whose daemon is dead. Its pending changes are in the state directory.
enum DeadMount {
    /// - Throws: `CommandFailure` with what the system said.
    static func remove(_ mountPoint: String) async throws {
        // Detached even while files are open: nobody can answer for them any more.
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
            ? nil : String(cString: strerror(errno)).lowercased()
    }

    /// Only this set-user-id helper may unmount for an ordinary user.
    private static func runFusermount(_ mountPoint: String) throws -> String? {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["fusermount3", "-u", "-z", "--", mountPoint]
        let output = Pipe()
        process.standardError = output
        try process.run()
        let said = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        guard process.terminationStatus != 0 else { return nil }
        let text = String(decoding: said, as: UTF8.self)
        return text.split(separator: "\n").first.map(String.init) ?? "fusermount3 failed"
    }
}
