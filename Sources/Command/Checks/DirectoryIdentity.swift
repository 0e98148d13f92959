import Control
import Foundation

/// Directories as the file system knows them: the same for every path that leads there.
enum DirectoryIdentity {
    /// Whether `inner` is `outer` or lies in it, even if only the parents of `inner` exist so far.
    ///
    /// Symbolic links are resolved, and a directory that is also mounted elsewhere is recognised.
    static func contains(_ outer: String, _ inner: String) -> Bool {
        guard let outer = identity(of: outer) else { return false }
        return ancestors(of: inner).contains { identity(of: $0) == outer }
    }

    private struct Identity: Hashable {
        let device: dev_t
        let inode: ino_t
    }

    private static func identity(of path: String) -> Identity? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        return Identity(device: status.st_dev, inode: status.st_ino)
    }

    /// The path itself, if it exists, and the directories above it.
    private static func ancestors(of path: String) -> [String] {
        var existing = path
        while existing.count > 1 {
            if let real = Path.resolved(existing) {
                let names = real.split(separator: "/")
                return (0...names.count).map { "/" + names.prefix($0).joined(separator: "/") }
            }
            existing = Path.absolute("\(existing)/..")
        }
        return ["/"]
    }
}
