import Foundation
package import ProviderSupport

/// An rclone program that is on the `PATH`.
package struct RcloneInstallation {
    package static let remedy =
        "install rclone \(RcloneVersion.oldest) or later, see \(RcloneProgram.home)"

    package let path: String
    /// Such as `1.75.2`; nil if it does not tell.
    package let version: String?

    /// - Throws: `.unavailable` if there is none.
    package static func find(
        in environment: [String: String]
    ) throws(SourceError) -> RcloneInstallation {
        let path = try RcloneProgram.find(in: environment).path
        return RcloneInstallation(path: path, version: try? version(of: path))
    }

    /// Whether it has all that Apus needs.
    package var isRecent: Bool {
        let numbers = (version ?? "").split(separator: ".").compactMap { part in
            Int(part.prefix { $0.isNumber })
        }
        return RcloneVersion(numbers: numbers) >= RcloneVersion.oldest
    }

    /// The first line of its answer is `rclone v1.75.2`.
    private static func version(of path: String) throws -> String? {
        let process = Process()
        process.executableURL = URL(filePath: path)
        process.arguments = ["version"]
        process.standardInput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        let pipe = Pipe()
        process.standardOutput = pipe
        try process.run()
        let answer = try pipe.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        let words = String(decoding: answer, as: UTF8.self).split(whereSeparator: \.isWhitespace)
        guard words.count > 1, words[0] == "rclone", words[1].hasPrefix("v") else { return nil }
        return String(words[1].dropFirst())
    }
}
