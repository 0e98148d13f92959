import Foundation
import Glibc
import Logging

/// A directory for one rclone: its socket, and files on their way. Mode 0700, gone with its last
/// reference.
///
/// A lock on it (`flock`) says that it is in use, so that what a killed process left behind can be
/// told apart and removed.
final class RcloneDirectory: Sendable {
    let path: String
    private let descriptor: Int32

    private static let prefix = "apus-rclone-"
    /// A directory this young may not be locked yet.
    private static let ageMin: TimeInterval = 60

    /// - Parameter parent: On a disk, since files as large as they come pass through.
    init(in parent: String) throws(SystemError) {
        Self.removeLeftovers(in: parent)
        var template = Array("\(parent)/\(Self.prefix)XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw SystemError.last }
        path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
        descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw SystemError.last }
        flock(descriptor, LOCK_EX | LOCK_NB)
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
        close(descriptor)
    }

    var socketPath: String { "\(path)/rc.sock" }

    private static func removeLeftovers(in parent: String) {
        let manager = FileManager.default
        for name in (try? manager.contentsOfDirectory(atPath: parent)) ?? []
        where name.hasPrefix(prefix) {
            let path = "\(parent)/\(name)"
            var status = stat()
            guard lstat(path, &status) == 0, status.st_uid == geteuid(),
                Date().timeIntervalSince1970 - TimeInterval(status.st_mtim.tv_sec) > ageMin
            else { continue }
            let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)
            guard descriptor >= 0 else { continue }
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { try? manager.removeItem(atPath: path) }
            close(descriptor)
        }
    }
}
