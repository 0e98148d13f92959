import CLinux
import Engine
import Glibc
import ProviderSupport
import SystemCalls

/// The status of one object.
struct FolderStatus: Sendable {
    private let status: statx

    /// Looks at `name` in `directory`, or at the object that `directory` has open if there is no name.
    init(of directory: Descriptor, _ name: [CChar] = [0]) throws(ProviderError) {
        var status = statx()
        try ProviderError.check("stat", apus_status(directory.rawValue, name, &status))
        // If the file system does not know when the object was made, the field means nothing.
        if status.stx_mask & STATX_BTIME == 0 { status.stx_btime = statx_timestamp() }
        self.status = status
    }

    var size: UInt64 { status.stx_size }
    var links: UInt32 { status.stx_nlink }

    /// nil for sockets, devices and pipes, which no cloud can store.
    var kind: FileKind? {
        switch mode_t(status.stx_mode) & S_IFMT {
        case S_IFREG: .file
        case S_IFDIR: .directory
        case S_IFLNK: .symlink
        default: nil
        }
    }

    var permissions: UInt16 { status.stx_mode & 0o7777 }

    var modified: Timestamp {
        Timestamp(
            seconds: status.stx_mtime.tv_sec, nanoseconds: Int64(status.stx_mtime.tv_nsec))
    }

    /// The version of an object's contents, safe within a file name.
    ///
    /// Size, modification time in nanoseconds and inode number; also the creation time if the file
    /// system keeps one, since a new file often gets the number of one just deleted, and may have its
    /// size and time as well.
    var version: String {
        let (modified, born) = (status.stx_mtime, status.stx_btime)
        return String(unsafeUninitializedCapacity: 6 * HexadecimalFields.fieldBytesMax) { bytes in
            var text = HexadecimalFields(bytes)
            text.append(size)
            text.append(modified.tv_sec)
            text.append(modified.tv_nsec)
            text.append(status.stx_ino)
            text.append(born.tv_sec)
            text.append(born.tv_nsec)
            return text.count
        }
    }

    var etag: ETag { ETag(version) }

    /// Whether two versions belong to the same file, and have the same size.
    static func isSameExceptTime(_ former: String, _ version: String) -> Bool {
        let (old, new) = (former.split(separator: "."), version.split(separator: "."))
        guard old.count == 6, new.count == 6 else { return false }
        return old[0] == new[0] && old[3...] == new[3...]
    }

    /// Identifies the mounted file system, or the device on a kernel before Linux 5.8. Unlike the
    /// device, the mount is the same in a subvolume of btrfs, and another one in a bind mount.
    var mount: UInt64 {
        status.stx_mask & STATX_MNT_ID != 0
            ? status.stx_mnt_id
            : UInt64(status.stx_dev_major) << 32 | UInt64(status.stx_dev_minor)
    }

    /// The inode number, and the time at which the object was made if the file system keeps it.
    var birthMark: String {
        "\(status.stx_ino).\(status.stx_btime.tv_sec).\(status.stx_btime.tv_nsec)"
    }

    /// Whether both are the same object, in any version.
    func isSameObject(as other: FolderStatus) -> Bool {
        let (own, other) = (status, other.status)
        return own.stx_dev_major == other.stx_dev_major && own.stx_dev_minor == other.stx_dev_minor
            && own.stx_ino == other.stx_ino && own.stx_btime.tv_sec == other.stx_btime.tv_sec
            && own.stx_btime.tv_nsec == other.stx_btime.tv_nsec
    }
}

/// Hexadecimal numbers, separated by dots: a listing writes six for each file.
private struct HexadecimalFields {
    /// A dot, a sign and 16 digits.
    static let fieldBytesMax = 18

    private let bytes: UnsafeMutableBufferPointer<UInt8>
    private(set) var count = 0

    init(_ bytes: UnsafeMutableBufferPointer<UInt8>) {
        self.bytes = bytes
    }

    mutating func append(_ number: some FixedWidthInteger) {
        if count > 0 { append(UInt8(ascii: ".")) }
        if number < 0 { append(UInt8(ascii: "-")) }
        let magnitude = UInt64(number.magnitude)
        let digits = max(1, (64 - magnitude.leadingZeroBitCount + 3) / 4)
        for index in (0..<digits).reversed() {
            append(Self.digit(UInt8(magnitude >> (index * 4) & 0xF)))
        }
    }

    private mutating func append(_ byte: UInt8) {
        bytes[count] = byte
        count += 1
    }

    private static func digit(_ value: UInt8) -> UInt8 {
        value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
    }
}
