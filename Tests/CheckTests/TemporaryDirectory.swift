import Foundation

/// A directory of its own for one test, gone when the last reference is.
final class TemporaryDirectory: Sendable {
    let path: String

    init() throws {
        path = NSTemporaryDirectory() + "/apus-test-\(UUID().uuidString)"
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
    }

    deinit {
        // Leftovers of a test that made it unreadable do no harm.
        try? FileManager.default.removeItem(atPath: path)
    }
}
