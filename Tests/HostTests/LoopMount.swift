import Foundation
import Glibc

/// An XFS file system in a file, mounted for one test.
final class LoopMount {
    /// The reason why XFS cannot be mounted here; nil if it can.
    static var obstacle: String? {
        if geteuid() != 0 { return "mounting needs root" }
        if !FileManager.default.isExecutableFile(atPath: mkfs) { return "mkfs.xfs is missing" }
        return nil
    }

    private static let mkfs = "/usr/sbin/mkfs.xfs"
    /// The smallest size that mkfs.xfs accepts.
    private static let imageBytes: off_t = 320 << 20

    private let directory: TemporaryDirectory
    var path: String { directory.path + "/mount" }

    init() throws {
        directory = try TemporaryDirectory()
        let image = directory.path + "/image"
        try FileManager.default.createDirectory(
            atPath: directory.path + "/mount", withIntermediateDirectories: false)
        try Data().write(to: URL(filePath: image))
        if truncate(image, Self.imageBytes) != 0 { throw CocoaError(.fileWriteUnknown) }
        try Self.run(Self.mkfs, "-q", image)
        try Self.run("/usr/bin/mount", "-o", "loop", image, path)
    }

    deinit {
        // Lazily: a test that failed may still have files open.
        umount2(path, Int32(MNT_DETACH))
    }

    private struct CommandFailed: Error {
        let command: [String]
        let output: String
    }

    private static func run(_ command: String...) throws {
        let process = Process()
        process.executableURL = URL(filePath: command[0])
        process.arguments = Array(command.dropFirst())
        let output = Pipe()
        process.standardError = output
        try process.run()
        let text = output.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        if process.terminationStatus != 0 {
            throw CommandFailed(
                command: command, output: String(decoding: text, as: UTF8.self))
        }
    }
}
