import CLinux
import Foundation

/// Finds the daemon that answers for a path.
package enum MountLocator {
    /// A path, and the mount it lies in.
    package struct Place: Hashable, Sendable {
        package let mountPoint: String
        /// As ``MountService`` wants it.
        package let path: String
    }

    /// The extended attribute of a mount point that holds its control socket's path.
    package static let attribute = "user.apus.control"

    /// A symbolic link in a mount that leads nowhere, or out of the mount, is meant itself.
    ///
    /// - Parameter path: As a user gave it: relative or not, with symbolic links or not.
    /// - Throws: `.missing` if there is no such path, or it is in no Apus mount.
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

    private static func place(ofResolved path: String, in table: MountTable) -> Place? {
        guard let mount = table.mount(above: path), mount.isApus else { return nil }
        return Place(mountPoint: mount.mountPoint, path: mount.relative(path))
    }

    /// The path of a symbolic link without any before its last name; nil if it is no link.
    private static func linkItself(_ path: String) -> String? {
        var status = stat()
        guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFLNK else { return nil }
        let url = URL(filePath: path)
        guard let parent = realpath(url.deletingLastPathComponent().relativePath, nil) else {
            return nil
        }
        defer { free(parent) }
        return "\(String(cString: parent))/\(url.lastPathComponent)"
    }

    /// The path without symbolic links.
    ///
    /// Where a dead mount does not let itself be looked into, the path is only made absolute.
    package static func resolve(
        _ path: String, in table: MountTable
    ) throws(ControlError) -> String {
        if let resolved = realpath(path, nil) {
            defer { free(resolved) }
            return String(cString: resolved)
        }
        let number = errno
        let absolute = URL(filePath: path).standardizedFileURL.path(percentEncoded: false)
        let trimmed =
            absolute.count > 1 && absolute.hasSuffix("/")
            ? String(absolute.dropLast()) : absolute
        if number == ENOTCONN || number == EIO || number == EACCES,
            table.mount(above: trimmed)?.isApus == true
        {
            return trimmed
        }
        throw ControlError(
            .missing, what: "find \(path)", why: String(cString: strerror(number)).lowercased())
    }

    /// Where the daemon of a mount listens; the mount answers this without its remote.
    ///
    /// - Throws: `.unreachable` if the daemon is dead, or the mount is another user's.
    package static func socketPath(ofMountAt mountPoint: String) throws(ControlError) -> String {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = getxattr(mountPoint, attribute, &buffer, buffer.count)
        if count > 0 { return String(decoding: buffer[..<count], as: UTF8.self) }
        let number = errno
        switch number {
        case ENOTCONN, ECONNABORTED, EIO:
            throw ControlError(
                .unreachable, what: "speak to the daemon of \(mountPoint)",
                why: "it is dead",
                remedy: "run `apus unmount \(mountPoint)`, then mount it again")
        case EACCES, EPERM:
            throw ControlError(
                .refused, what: "speak to the daemon of \(mountPoint)",
                why: "another user mounted it", remedy: "run the command as that user")
        default:
            throw ControlError(
                .failed, what: "speak to the daemon of \(mountPoint)",
                why: String(cString: strerror(number)).lowercased())
        }
    }

    /// Whether nobody serves the mount any more, so that it answers nothing but errors.
    package static func isDead(_ mountPoint: String) -> Bool {
        // What `stat` tells the kernel may remember from before; this is always asked.
        var space = statvfs()
        return statvfs(mountPoint, &space) != 0 && (errno == ENOTCONN || errno == ECONNABORTED)
    }

    private static func notMounted(_ path: String, in table: MountTable) -> ControlError {
        let mounts = table.apusMounts.map(\.mountPoint)
        return ControlError(
            .missing, what: "find the mount of \(path)",
            why: mounts.isEmpty
                ? "nothing is mounted by apus"
                : "it is below none of \(mounts.joined(separator: ", "))",
            remedy: mounts.isEmpty ? "mount a folder with `apus mount SOURCE MOUNTPOINT`" : nil)
    }
}
