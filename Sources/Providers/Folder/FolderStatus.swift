import CLinux
import Engine
import Glibc

/// The status of one object.
struct FolderStatus: Sendable {
    let mode: UInt32
    let device: UInt64
    let inode: UInt64
    let links: UInt32
    let size: UInt64
    private let modifiedSeconds: Int64
    private let modifiedNanoseconds: UInt32
    private let bornSeconds: Int64
    private let bornNanoseconds: UInt32

    init(_ status: folder_status) {
        mode = status.mode
        device = status.device
        inode = status.inode
        links = status.links
        size = status.size
        modifiedSeconds = status.modified_seconds
        modifiedNanoseconds = status.modified_nanoseconds
        bornSeconds = status.born_seconds
        bornNanoseconds = status.born_nanoseconds
    }

    /// nil for sockets, devices and pipes, which no cloud can store.
    var kind: FileKind? {
        switch mode_t(mode) & S_IFMT {
        case S_IFREG: .file
        case S_IFDIR: .directory
        case S_IFLNK: .symlink
        default: nil
        }
    }

    var permissions: UInt16 { UInt16(mode & 0o7777) }

    var modified: Timestamp {
        Timestamp(seconds: modifiedSeconds, nanoseconds: Int64(modifiedNanoseconds))
    }

    /// The version of an object's contents, safe within a file name.
    ///
    /// Size, modification time in nanoseconds and inode number; also the creation time if the file
    /// system keeps one, since a new file often gets the number of one just deleted, and may have its
    /// size and time as well.
    var version: String {
        let parts = [
            String(size, radix: 16), String(modifiedSeconds, radix: 16),
            String(modifiedNanoseconds, radix: 16), String(inode, radix: 16),
            String(bornSeconds, radix: 16), String(bornNanoseconds, radix: 16),
        ]
        return parts.joined(separator: ".")
    }

    var etag: ETag { ETag(version) }

    /// Whether both are the same object, in any version.
    func isSameObject(as other: FolderStatus) -> Bool {
        device == other.device && inode == other.inode && bornSeconds == other.bornSeconds
            && bornNanoseconds == other.bornNanoseconds
    }
}
