import Foundation

/// A directory for one test, removed with the last reference.
final class TemporaryDirectory: Sendable {
    let path: String

    init(in parent: String = NSTemporaryDirectory()) throws {
        path = parent + "/apus-test-\(UUID().uuidString)"
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
    }

    deinit {
        // A test that made its directory unwritable leaves it behind; nothing depends on that.
        try? FileManager.default.removeItem(atPath: path)
    }

    /// The permission bits of a file or directory below.
    func mode(of name: String) throws -> Int? {
        let attributes = try FileManager.default.attributesOfItem(atPath: "\(path)/\(name)")
        return (attributes[.posixPermissions] as? NSNumber)?.intValue
    }
}
