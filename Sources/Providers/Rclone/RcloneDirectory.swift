import Foundation
import Glibc
import ProviderSupport
import Synchronization
import SystemCalls

/// A directory for one rclone: its socket, and files being uploaded. It has mode 0700 and is removed
/// with its last reference.
///
/// A lock on it (`flock`) shows that it is in use. So the directory of a killed process can be
/// recognised and removed as soon as that process is gone.
final class RcloneDirectory: Sendable {
    let path: String
    private let descriptor: Int32
    private let isRemoved = Mutex(false)

    private static let prefix = "apus-rclone-"

    /// - Parameter parent: On a disk, since files of any size pass through.
    init(in parent: String) throws(SystemError) {
        Self.removeLeftovers(in: parent)
        (path, descriptor) = try Self.make(in: parent)
    }

    deinit {
        remove()
        close(descriptor)
    }

    var socketPath: String { "\(path)/rc.sock" }

    /// Removes the directory and its contents before the last reference is gone.
    func remove() {
        let isFirst = isRemoved.withLock { isRemoved in
            defer { isRemoved = true }
            return !isRemoved
        }
        // Afterwards, another process may use its name.
        if isFirst { try? FileManager.default.removeItem(atPath: path) }
    }

    /// - Returns: A locked directory, with the descriptor that holds the lock.
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
            // Until it is locked, another mount may mistake it for a leftover. On a file system
            // without locks, no leftovers are removed.
            let isOurs = flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK
            if descriptor >= 0, isOurs, isStill(path, descriptor) { return (path, descriptor) }
            if descriptor >= 0 { close(descriptor) }
        }
    }

    /// Whether the open directory is still the one at its path.
    private static func isStill(_ path: String, _ descriptor: Int32) -> Bool {
        var named = stat()
        var opened = stat()
        return lstat(path, &named) == 0 && fstat(descriptor, &opened) == 0
            && named.st_ino == opened.st_ino && named.st_dev == opened.st_dev
    }

    /// Removes directories that killed processes of this user left behind.
    private static func removeLeftovers(in parent: String) {
        let manager = FileManager.default
        for name in (try? manager.contentsOfDirectory(atPath: parent)) ?? []
        where name.hasPrefix(prefix) {
            let path = "\(parent)/\(name)"
            let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW)
            guard descriptor >= 0 else { continue }
            defer { close(descriptor) }
            var status = stat()
            // If the lock is free, its owner is dead.
            guard fstat(descriptor, &status) == 0, status.st_uid == geteuid(),
                flock(descriptor, LOCK_EX | LOCK_NB) == 0, isStill(path, descriptor)
            else { continue }
            try? manager.removeItem(atPath: path)
        }
    }
}
