import CLinux
import Engine
import SystemCalls

/// The abilities of the file system of the folder, known by its magic number, see statfs(2).
struct FolderFileSystem: Sendable {
    /// nil if unknown.
    private let magic: UInt64?
    private let blockBytes: Int
    /// The room for extended attributes; nil if it has none.
    private(set) var extendedAttributes: ExtendedAttributeSpace?
    private let foldsNames: Bool

    private static let ext4: UInt64 = 0xEF53
    private static let btrfs: UInt64 = 0x9123_683E
    private static let f2fs: UInt64 = 0xF2F5_2010
    private static let fat: UInt64 = 0x4D44
    private static let exfat: UInt64 = 0x2011_BAB0
    private static let fuse: UInt64 = 0x6573_5546
    private static let smb: Set<UInt64> = [0xFF53_4D42, 0xFE53_4D42]
    private static let hfs: Set<UInt64> = [0x482B, 0x4244]

    /// Those that only this machine changes, so that inotify(7) reports all changes: ext2 to ext4,
    /// btrfs, XFS, tmpfs, F2FS, ZFS, bcachefs, FAT, exFAT, NTFS, HFS, overlayfs, JFS, NILFS, ReiserFS.
    private static let reporting: Set<UInt64> = [
        ext4, btrfs, 0x5846_5342, 0x0102_1994, f2fs, 0x2FC1_2FC1, 0xCA45_1A4E, fat, exfat,
        0x7366_746E, 0x482B, 0x4244, 0x794C_7630, 0x3153_464A, 0x3434, 0x5265_4973,
    ]

    /// Whether the file system of an open directory reports all changes.
    static func reportsChanges(_ directory: FolderDirectory) -> Bool {
        directory.fileSystem.map {
            reporting.contains(UInt64(truncatingIfNeeded: $0.f_type) & 0xFFFF_FFFF)
        } ?? false
    }

    init(holding directory: FolderDirectory) {
        let fileSystem = directory.fileSystem
        magic = fileSystem.map { UInt64(truncatingIfNeeded: $0.f_type) & 0xFFFF_FFFF }
        blockBytes = fileSystem.map { Int($0.f_bsize) } ?? 0
        foldsNames = (try? directory.readable()).map { apus_folds_names($0.rawValue) } ?? false
        if FolderAttributes.areKept(at: directory.processPath()) { extendedAttributes = space }
    }

    /// The known limits of file systems; beyond an unknown limit, setting an attribute fails.
    private var space: ExtendedAttributeSpace {
        switch magic {
        case Self.ext4:
            // One block, with a header.
            Self.spaceInWords(bytesMax: blockBytes - 36)
        case Self.btrfs: ExtendedAttributeSpace(bytesMax: 16_000, bytes: \.byteCount)
        case Self.f2fs: ExtendedAttributeSpace(bytesMax: 3_500, bytes: \.byteCount)
        default: ExtendedAttributeSpace(bytesMax: 65_536, bytes: \.byteCount)
        }
    }

    /// For each attribute an entry, its name and its value in words, as on ext4.
    static func spaceInWords(bytesMax: Int) -> ExtendedAttributeSpace {
        ExtendedAttributeSpace(bytesMax: bytesMax) { attributes in
            attributes.names.reduce(0) { sum, name in
                let value = attributes[name]?.count ?? 0
                return sum + 16 + (name.count - 5 + 3) / 4 * 4 + (value + 3) / 4 * 4
            }
        }
    }

    var keepsMode: Bool { !isFAT }

    var keepsSymlinks: Bool { !isFAT }

    /// In doubt, as for a share of a machine that may tell names apart, they are not.
    var names: NameMatching {
        let folds =
            foldsNames || isFAT
            || magic.map { Self.smb.contains($0) || Self.hfs.contains($0) } ?? false
        return folds ? .caseless : .exact
    }

    var modifiedResolution: Duration {
        switch magic {
        case Self.fat: .seconds(2)
        case Self.exfat: .milliseconds(10)
        default: .nanoseconds(1)
        }
    }

    /// Whether a file has the same inode number after it is mounted again.
    var keepsInodeNumbers: Bool { !isFAT && magic != Self.fuse }

    private var isFAT: Bool { magic == Self.fat || magic == Self.exfat }
}
