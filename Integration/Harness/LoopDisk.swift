import Glibc
import Testing

/// A small file system in a file, mounted: a disk with properties that this machine's lacks.
struct LoopDisk {
    enum FileSystem: String {
        /// Can share bytes between files.
        case xfs
        /// Can be small, and can be filled to its last block.
        case ext4
    }

    let path: String

    /// XFS takes root, `mkfs.xfs` and a kernel that has loop devices to give.
    static let isPossible = isPossible(.xfs, mebibytes: 400)

    /// As ``isPossible``, for disks that are there to be filled.
    static let canBeSmall = isPossible(.ext4, mebibytes: 32)

    /// - Parameter percentForRoot: The share of ext4 that is reserved for root.
    init(
        _ fileSystem: FileSystem = .xfs, mebibytes: Int = 400, percentForRoot: Int = 0
    ) throws {
        path = try Files.makeTemporaryDirectory("x")
        let image = path + ".image"
        do {
            try Self.succeed("truncate", "-s", "\(mebibytes)M", image)
            switch fileSystem {
            case .xfs: try Self.succeed("mkfs.xfs", "-q", image)
            case .ext4:
                try Self.succeed("mkfs.ext4", "-q", "-F", "-m", "\(percentForRoot)", image)
            }
            try Self.succeed("mount", "-o", "loop", image, path)
        } catch {
            remove()
            throw error
        }
    }

    func remove() {
        _ = try? Program.run("umount", "-l", path)
        _ = try? Program.run("rm", "-rf", "--one-file-system", path, path + ".image")
    }

    /// The space for users other than root.
    var freeMebibytes: Int {
        get throws {
            var status = statvfs()
            try CallError.check(statvfs(path, &status), "statvfs \(path)")
            return (Int(status.f_bavail) * Int(status.f_frsize)) >> 20
        }
    }

    /// Uses space for a file of its own, as another program on the same disk would.
    func occupy(mebibytes: Int) throws {
        try Program.require("fallocate", "-l", "\(mebibytes)M", neighbour)
    }

    /// Uses all the space that is left.
    func fill() throws {
        // Both are expected to fail, because the disk is full.
        try Program.run("dd", "if=/dev/zero", "of=\(neighbour)", "bs=64K")
        try Program.run("dd", "if=/dev/zero", "of=\(neighbour)-rest", "bs=512", "conv=fsync")
    }

    /// Frees the space that ``fill()`` or ``occupy(mebibytes:)`` used.
    func clear() throws {
        try Program.require("rm", "-f", neighbour, neighbour + "-rest")
    }

    private var neighbour: String { "\(path)/neighbour" }

    private static func isPossible(_ fileSystem: FileSystem, mebibytes: Int) -> Bool {
        guard geteuid() == 0, let disk = try? LoopDisk(fileSystem, mebibytes: mebibytes)
        else { return false }
        disk.remove()
        return true
    }

    private static func succeed(_ command: String...) throws {
        let result = try Program.start(command).wait()
        guard result.status == 0 else {
            throw CallError(call: result.description, code: ENOSYS)
        }
    }
}
