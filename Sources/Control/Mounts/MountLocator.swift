import CLinux
import Foundation
import SystemCalls

/// Finds the daemon that serves a path.
package enum MountLocator {
    /// A path within a mount.
    package struct Place: Hashable, Sendable {
        package let mountPoint: String
        /// In the form of ``MountService``.
        package let path: String
    }

    /// The extended attribute of a mount point with the path of its control socket.
    package static let attribute = "user.apus.control"

    /// Returns the place of a path. A symbolic link in a mount that is dangling or leads out of the
    /// mount stands for itself.
    ///
    /// - Parameter path: As given by the user: relative or absolute, with or without symbolic links.
    /// - Throws: `.missing` if the path does not exist or is not in an Apus mount.
    package static func place(
        of path: String, in table: MountTable
    ) throws(ControlError) -> Place {
        let followed = Result { () throws(ControlError) in try resolve(path, in: table) }
        if let resolved = try? followed.get(), let place = place(ofResolved: resolved, in: table) {
            return place
        }
        if let link = linkItself(path), let place = place(ofResolved: link, in: table) {
            return place
        }
        _ = try followed.get()
        throw notMounted(path, in: table)
    }

    /// Returns the place of a path that need not exist any more: of the part of it that exists, with the
    /// rest as it is.
    ///
    /// - Throws: `.missing` if that is not in an Apus mount.
    package static func formerPlace(
        of path: String, in table: MountTable
    ) throws(ControlError) -> Place {
        var existing = Path.absolute(path)
        var rest: [Substring] = []
        while existing != "/" {
            if let resolved = try? resolve(existing, in: table) {
                guard let place = place(ofResolved: resolved, in: table) else { break }
                let names = place.path.split(separator: "/") + rest.reversed()
                return Place(mountPoint: place.mountPoint, path: names.joined(separator: "/"))
            }
            let end = existing.lastIndex(of: "/") ?? existing.startIndex
            rest.append(existing[existing.index(after: end)...])
            existing = end == existing.startIndex ? "/" : String(existing[..<end])
        }
        throw notMounted(path, in: table)
    }

    private static func place(ofResolved path: String, in table: MountTable) -> Place? {
        guard let mount = table.mount(above: path), mount.isApus else { return nil }
        return Place(mountPoint: mount.mountPoint, path: mount.relative(path))
    }

    /// Returns the path of a symbolic link, with links in its parent resolved; nil for other files.
    private static func linkItself(_ path: String) -> String? {
        let status = FileStatus(at: path, followsLink: false)
        guard status?.kind == .symbolicLink else { return nil }
        let url = URL(filePath: path)
        return Path.resolved(url.deletingLastPathComponent().relativePath)
            .map { "\($0)/\(url.lastPathComponent)" }
    }

    /// Returns the path without symbolic links.
    ///
    /// A path in a dead mount, which cannot be resolved, is only made absolute.
    package static func resolve(
        _ path: String, in table: MountTable
    ) throws(ControlError) -> String {
        if let resolved = Path.resolved(path) { return resolved }
        let failure = SystemError.last
        let absolute = Path.absolute(path)
        if [ENOTCONN, EIO, EACCES].contains(failure.code),
            table.mount(above: absolute)?.isApus == true
        {
            return absolute
        }
        throw ControlError(.missing, what: "find \(path)", why: "\(failure)".lowercased())
    }

    /// Returns the control socket of a mount, which the mount reports without its remote.
    ///
    /// - Throws: `.unreachable` if the daemon is dead, or the mount is another user's.
    package static func socketPath(ofMountAt mountPoint: String) throws(ControlError) -> String {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = getxattr(mountPoint, attribute, &buffer, buffer.count)
        if count > 0 { return String(decoding: buffer[..<count], as: UTF8.self) }
        let failure = SystemError.last
        let what = "connect to the daemon of \(mountPoint)"
        switch failure.code {
        case ENOTCONN, ECONNABORTED, EIO:
            throw ControlError(
                .unreachable, what: what, why: "it is dead",
                remedy: "run `apus unmount \(mountPoint)`, then mount it again")
        case EACCES, EPERM:
            throw ControlError(
                .refused, what: what, why: "another user mounted it",
                remedy: "run the command as that user")
        default: throw ControlError(.failed, what: what, why: "\(failure)".lowercased())
        }
    }

    /// Whether the mount has lost its daemon, so that every request fails.
    package static func isDead(_ mountPoint: String) -> Bool {
        // Unlike `stat`, this is never answered from the kernel's cache.
        var space = statvfs()
        return statvfs(mountPoint, &space) != 0 && (errno == ENOTCONN || errno == ECONNABORTED)
    }

    private static func notMounted(_ path: String, in table: MountTable) -> ControlError {
        let mounts = table.apusMounts.map(\.mountPoint)
        return ControlError(
            .missing, what: "find the mount of \(path)",
            why: mounts.isEmpty
                ? "nothing is mounted by apus"
                : "it is not in any of the mounts \(mounts.joined(separator: ", "))",
            remedy: mounts.isEmpty ? "mount a folder with `apus mount SOURCE MOUNTPOINT`" : nil)
    }
}
