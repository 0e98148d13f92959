import Glibc
import Testing

/// A small XFS in a file, mounted: a disk that can share bytes between files.
struct LoopDisk {
    let path: String

    /// Takes root and a kernel that has loop devices to give.
    static let isPossible: Bool = {
        guard geteuid() == 0, let disk = try? LoopDisk() else { return false }
        disk.remove()
        return true
    }()

    init() throws {
        let parent = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        var template = Array("\(parent)/x.XXXXXX".utf8CString)
        try #require(mkdtemp(&template) != nil, "mkdtemp below \(parent)")
        path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let image = path + ".image"
        do {
            try Self.succeed("truncate", "-s", "400M", image)
            try Self.succeed("mkfs.xfs", "-q", image)
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

    private static func succeed(_ command: String...) throws {
        let result = try Program.start(command).wait()
        guard result.status == 0 else {
            throw CallError(call: result.description, code: ENOSYS)
        }
    }
}
