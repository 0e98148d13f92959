import Foundation
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
        try? FileManager.default.removeItem(atPath: path)
    }

    func path(_ name: String) -> String { "\(path)/\(name)" }

    func write(_ name: String, _ text: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: path(name)))
    }

    /// All names, hidden ones included.
    var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: path).sorted() }
    }
}

/// Keeps the folders of a test run until its process ends or the test drops it.
final class TemporaryFolders: Sendable {
    private let folders = Mutex<[TemporaryFolder]>([])

    func make() throws -> TemporaryFolder {
        let folder = try TemporaryFolder()
        folders.withLock { $0.append(folder) }
        return folder
    }
}
