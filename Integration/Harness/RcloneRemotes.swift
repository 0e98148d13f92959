import Foundation
import Host
import Logging
import ProviderSupport
import Testing
import Transport

/// Remotes of rclone that are empty: `plain`, `crypt`, which encrypts, each in a directory, and
/// `memory`, which has buckets, as S3 has, and ends with rclone.
///
/// rclone is the one that scripts/setup puts into `.venv`.
final class RcloneRemotes: Sendable {
    /// Everything is below here.
    let base: String
    /// The environment for rclone and programs that start it.
    let environment: [String: String]
    private let programs: String
    private let configuration: String

    init() throws {
        let parent = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        base = "\(parent)/r.\(UUID().uuidString.prefix(8))"
        programs = URL(filePath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: ".venv/bin").path(percentEncoded: false)
        let rclone = "\(programs)/rclone"
        try #require(
            FileManager.default.isExecutableFile(atPath: rclone),
            "there is no \(rclone); run scripts/setup")
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        environment = [
            "PATH": "\(programs):\(path)", "HOME": base, "TMPDIR": base,
            "RCLONE_CONFIG": "\(base)/rclone.conf",
        ]
        for directory in [base, "\(base)/plain", "\(base)/secret"] {
            try FileManager.default.createDirectory(
                atPath: directory, withIntermediateDirectories: false)
        }
        let password = try Program.require(rclone, "obscure", "a password of a test")
        configuration = """
            [plain]
            type = alias
            remote = \(base)/plain

            [crypt]
            type = crypt
            remote = \(base)/secret
            password = \(password)

            [memory]
            type = memory
            """
        try write(configuration)
    }

    /// Adds a remote, or replaces the one that was added before.
    func add(_ remote: String) throws {
        try write(configuration + "\n\n" + remote)
    }

    private func write(_ text: String) throws {
        try text.write(toFile: "\(base)/rclone.conf", atomically: true, encoding: .utf8)
    }

    /// Returns a password as rclone writes it in its configuration.
    func obscure(_ password: String) throws -> String {
        try Program.require("\(programs)/rclone", "obscure", password)
    }

    /// The names of the directories in `TMPDIR` that Apus made for rclone.
    var directories: Set<String> {
        get throws { Set(try Files.names(in: base).filter { $0.hasPrefix("apus-rclone-") }) }
    }

    func remove() {
        try? FileManager.default.removeItem(atPath: base)
    }

    var world: ProviderEnvironment {
        ProviderEnvironment(
            clock: SystemClock(), transport: HTTPTransport(),
            logger: Logger(label: "rclone", factory: { _ in SwiftLogNoOpLogHandler() }))
    }
}
