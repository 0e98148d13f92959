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
    private let lock: Descriptor
    private let isRemoved = Mutex(false)

    private static let prefix = "apus-rclone-"

    /// - Parameter parent: On a disk, since files of any size pass through.
    init(in parent: String) throws(SystemError) {
        Self.removeLeftovers(in: parent)
        (path, lock) = try Self.make(in: parent)
    }

    deinit {
        remove()
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
    ) throws(SystemError) -> (path: String, lock: Descriptor) {
        while true {
            var template = Array("\(parent)/\(prefix)XXXXXX".utf8CString)
            guard mkdtemp(&template) != nil else { throw SystemError.last }
            let path = String(
                decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
            // Until it is locked, another mount may mistake it for a leftover. On a file system
            // without locks, no leftovers are removed.
            do {
                let lock = try Descriptor(opening: path, flags: O_RDONLY | O_DIRECTORY)
                let isOurs = flock(lock.rawValue, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK
                if isOurs, isStill(path, lock) { return (path, lock) }
            } catch {
                if error.code != ENOENT { throw error }
            }
        }
    }

    /// Whether the open directory is still the one at its path.
    private static func isStill(_ path: String, _ directory: Descriptor) -> Bool {
        var (named, opened) = (stat(), stat())
        return lstat(path, &named) == 0 && fstat(directory.rawValue, &opened) == 0
            && named.st_ino == opened.st_ino && named.st_dev == opened.st_dev
    }

    /// Removes directories that killed processes of this user left behind.
    private static func removeLeftovers(in parent: String) {
        let manager = FileManager.default
        for name in (try? manager.contentsOfDirectory(atPath: parent)) ?? []
        where name.hasPrefix(prefix) {
            let path = "\(parent)/\(name)"
            var status = stat()
            // If the lock is free, its owner is dead.
            guard
                let lock = try? Descriptor(
                    opening: path, flags: O_RDONLY | O_DIRECTORY | O_NOFOLLOW),
                fstat(lock.rawValue, &status) == 0, status.st_uid == geteuid(),
                flock(lock.rawValue, LOCK_EX | LOCK_NB) == 0, isStill(path, lock)
            else { continue }
            withExtendedLifetime(lock) { try? manager.removeItem(atPath: path) }
        }
    }
}
