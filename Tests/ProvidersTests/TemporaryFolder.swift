import Foundation
import Glibc
import Synchronization

/// A directory of its own for a test, removed with its last reference.
final class TemporaryFolder: Sendable {
    let path: String

    init() throws {
        path =
            FileManager.default.temporaryDirectory
            .appendingPathComponent("apus-tests-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit {
        // Not by Foundation, which stops where a path is longer than PATH_MAX.
        Self.remove(Array(path.utf8CString), in: AT_FDCWD)
    }

    func path(_ name: String) -> String { "\(path)/\(name)" }

    func write(_ name: String, _ text: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: path(name)))
    }

    /// All names, hidden ones included.
    var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: path).sorted() }
    }

    private static func remove(_ name: [CChar], in parent: Int32) {
        let descriptor = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0, let directory = fdopendir(descriptor) else {
            unlinkat(parent, name, 0)
            return
        }
        for child in names(of: directory) { remove(child, in: descriptor) }
        closedir(directory)
        unlinkat(parent, name, Int32(AT_REMOVEDIR))
    }

    private static func names(of directory: OpaquePointer) -> [[CChar]] {
        var names: [[CChar]] = []
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                bytes.prefix { $0 != 0 }.map(CChar.init(bitPattern:)) + [0]
            }
            if name != [46, 0] && name != [46, 46, 0] { names.append(name) }
        }
        return names
    }
}

/// Keeps the folders of a test until it ends.
final class TemporaryFolders: Sendable {
    private let folders = Mutex<[TemporaryFolder]>([])

    func make() throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        folders.withLock { $0.append(folder) }
        return folder
    }
}
