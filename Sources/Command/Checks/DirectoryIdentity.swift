import Control
import Foundation
import SystemCalls

/// Directories as the file system knows them: the same for every path that leads there.
enum DirectoryIdentity {
    /// Whether `inner` is `outer` or lies in it, even if only the parents of `inner` exist so far.
    ///
    /// Symbolic links are resolved, and a directory is recognised where it, or one below it, is also
    /// mounted elsewhere.
    static func contains(_ outer: String, _ inner: String, in table: MountTable) -> Bool {
        let ancestors = ancestors(of: inner)
        guard let identity = identity(of: outer) else { return false }
        if ancestors.contains(where: { self.identity(of: $0) == identity }) { return true }
        guard let outer = Path.resolved(outer), let outerPlace = place(of: outer, in: table),
            let innerPlace = ancestors.last.flatMap({ place(of: $0, in: table) })
        else { return false }
        return innerPlace.starts(with: outerPlace)
    }

    /// The device of an existing directory, and the names that lead to it from the root of the
    /// file system there, which are the same for every mount of it.
    private static func place(of path: String, in table: MountTable) -> [Substring]? {
        guard let mount = table.mount(above: path) else { return nil }
        return [mount.device[...]] + "\(mount.root)/\(mount.relative(path))".split(separator: "/")
    }

    private static func identity(of path: String) -> FileStatus.Identity? {
        FileStatus(at: path)?.identity
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
