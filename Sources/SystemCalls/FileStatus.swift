import CLinux
import Glibc

/// The attributes of a file. POSIX: `stat`, `lstat`, `fstat`.
///
/// For modules that import many C libraries: `stat` itself belongs there to the one whose header the compiler
/// has read first, which differs from build to build, and that one has to be imported.
package struct FileStatus: Sendable {
    package enum Kind: Sendable {
        case regular, directory, symbolicLink, socket, other
    }

    /// The numbers that no other file has at the same time.
    package struct Identity: Hashable, Sendable {
        let device: dev_t
        let inode: ino_t
    }

    package let kind: Kind
    package let identity: Identity
    /// The permission bits.
    package let mode: UInt32
    /// In bytes.
    package let size: Int

    /// - Parameter followsLink: Whether a symbolic link stands for its target.
    /// - Returns: nil if there is no such file, or it cannot be reached.
    package init?(at path: String, followsLink: Bool = true) {
        var status = stat()
        guard (followsLink ? stat(path, &status) : lstat(path, &status)) == 0 else { return nil }
        self.init(status)
    }

    /// - Parameter descriptor: Of an open file.
    package init(of descriptor: Int32) throws(SystemError) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .last }
        self.init(status)
    }

    private init(_ status: stat) {
        kind =
            switch status.st_mode & S_IFMT {
            case S_IFREG: .regular
            case S_IFDIR: .directory
            case S_IFLNK: .symbolicLink
            case S_IFSOCK: .socket
            default: .other
            }
        identity = Identity(device: status.st_dev, inode: status.st_ino)
        mode = status.st_mode & 0o7777
        size = Int(status.st_size)
    }
}
