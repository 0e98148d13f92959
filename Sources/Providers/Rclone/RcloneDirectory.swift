import Foundation
import Glibc
import Synchronization

/// A directory for one rclone: its socket, and files on their way. Mode 0700, gone with its last
/// reference.
///
/// A lock on it (`flock`) says that it is in use, so that what a killed process left behind can be
/// told apart and removed: at once, as soon as its process is gone.
final class RcloneDirectory: Sendable {
    let path: String
    private let descriptor: Int32
    private let isRemoved = Mutex(false)

    private static let prefix = "apus-rclone-"

    /// - Parameter parent: On a disk, since files as large as they come pass through.
    init(in parent: String) throws(SystemError) {
        Self.removeLeftovers(in: parent)
        (path, descriptor) = try Self.make(in: parent)
    }

    deinit {
        remove()
        close(descriptor)
    }

    var socketPath: String { "\(path)/rc.sock" }

    /// Removes it with all that is in it, before the last reference goes.
    func remove() {
        let isFirst = isRemoved.withLock { isRemoved in
            defer { isRemoved = true }
            return !isRemoved
        }
        // Once it is gone, its name may be somebody else's.
        if isFirst { try? FileManager.default.removeItem(atPath: path) }
    }

    /// - Returns: A directory that is locked, with the descriptor that holds the lock.
    private static func make(
        in parent: String
    ) throws(SystemError) -> (path: String, descriptor: Int32) {
        while true {
            var template = Array("\(parent)/\(prefix)XXXXXX".utf8CString)
            guard mkdtemp(&template) != nil else { throw SystemError.last }
            let path = String(
                decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
            let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            guard descriptor >= 0 || errno == ENOENT else { throw SystemError.last }
            // Until it is locked, another mount that starts may take it for one left behind. Where
            // there are no locks, nobody removes any.
            let isOurs = flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK
            if descriptor >= 0, isOurs, isStill(path, descriptor) { return (path, descriptor) }
            if descriptor >= 0 { close(descriptor) }
        }
    }

    /// Whether the directory that is open is still the one at its path.
    private static func isStill(_ path: String, _ descriptor: Int32) -> Bool {
        var named = stat()
        var opened = stat()
        return lstat(path, &named) == 0 && fstat(descriptor, &opened) == 0
            && named.st_ino == opened.st_ino && named.st_dev == opened.st_dev
    }

    /// Removes what processes of this user left behind that were killed.
    private static func removeLeftovers(in parent: String) {
        let manager = FileManager.default
        for name in (try? manager.contentsOfDirectory(atPath: parent)) ?? []
        where name.hasPrefix(prefix) {
            let path = "\(parent)/\(name)"
            let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)
            guard descriptor >= 0 else { continue }
            defer { close(descriptor) }
            var status = stat()
            // A lock that can be had says that its owner is dead.
            guard fstat(descriptor, &status) == 0, status.st_uid == geteuid(),
                flock(descriptor, LOCK_EX | LOCK_NB) == 0, isStill(path, descriptor)
            else { continue }
            try? manager.removeItem(atPath: path)
        }
    }
}
