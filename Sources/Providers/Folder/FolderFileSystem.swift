import CFolder

/// What the file system that holds the folder can do, known by its magic number, see statfs(2).
struct FolderFileSystem: Sendable {
    /// nil where it does not tell.
    private let magic: UInt64?

    private static let ext4: UInt64 = 0xEF53
    private static let xfs: UInt64 = 0x5846_5342
    private static let btrfs: UInt64 = 0x9123_683E
    private static let f2fs: UInt64 = 0xF2F5_2010
    private static let fat: UInt64 = 0x4D44
    private static let exfat: UInt64 = 0x2011_BAB0

    init(holding directory: FolderDirectory) {
        magic = directory.fileSystemMagic
    }

    /// Whether a position in a directory stays valid after it is closed and while entries come and
    /// go. NFS servers rely on it with these; tmpfs before Linux 6.6 and overlayfs renumber.
    var positionsLast: Bool {
        magic.map { [Self.ext4, Self.xfs, Self.btrfs, Self.f2fs].contains($0) } ?? false
    }

    var keepsMode: Bool { !isFAT }

    var keepsSymlinks: Bool { !isFAT }

    var modifiedResolution: Duration {
        switch magic {
        case Self.fat: .seconds(2)
        case Self.exfat: .milliseconds(10)
        default: .nanoseconds(1)
        }
    }

    private var isFAT: Bool { magic == Self.fat || magic == Self.exfat }
}
