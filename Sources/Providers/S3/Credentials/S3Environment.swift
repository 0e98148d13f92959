import Foundation
import ProviderSupport

/// The environment and the files that determine credentials.
struct S3Environment: Sendable {
    var values: [String: String]
    /// Returns a file's bytes; nil if it cannot be read.
    var read: @Sendable (_ path: String) -> [UInt8]?

    static var current: S3Environment {
        S3Environment(values: ProcessInfo.processInfo.environment) { path in
            guard let handle = FileHandle(forReadingAtPath: path) else { return nil }
            defer { try? handle.close() }
            return (try? handle.read(upToCount: fileBytesMax)).map { $0.map { Array($0) } ?? [] }
        }
    }

    private static let fileBytesMax = 1 << 20

    /// The value of a variable, unless it is empty.
    subscript(name: String) -> String? {
        values[name].flatMap { $0.isEmpty ? nil : $0 }
    }

    func text(_ path: String) -> String? { read(path).map { String(decoding: $0, as: UTF8.self) } }

    /// The profile to use.
    func profileName(given: String?) -> String {
        given ?? self["AWS_PROFILE"] ?? self["AWS_DEFAULT_PROFILE"] ?? "default"
    }

    /// The settings of a profile in the shared files; the credentials file takes precedence.
    func profile(_ name: String) -> [String: String]? {
        let credentials = file("AWS_SHARED_CREDENTIALS_FILE", "credentials")
        let config = file("AWS_CONFIG_FILE", "config")
        let ofCredentials = credentials.sections[name]
        let ofConfig =
            config.sections["profile \(name)"] ?? (name == "default" ? config.sections[name] : nil)
        if ofCredentials == nil && ofConfig == nil { return nil }
        return (ofConfig ?? [:]).merging(ofCredentials ?? [:]) { $1 }
    }

    /// Returns the address of S3, in AWS's order: settings for S3 alone come first, and the environment
    /// before the files.
    ///
    /// - Parameter profile: Its settings in the shared files.
    /// - Returns: nil for AWS itself.
    /// - Throws: `.unavailable` if the profile names a `services` section that does not exist.
    func endpoint(profile: [String: String]) throws(SourceError) -> String? {
        if let url = self["AWS_ENDPOINT_URL_S3"] ?? self["AWS_ENDPOINT_URL"] { return url }
        if let name = profile["services"] {
            let config = file("AWS_CONFIG_FILE", "config")
            guard let services = config.sections["services \(name)"] else {
                throw SourceError(
                    .unavailable,
                    "the profile has \"services = \(name)\", and the shared config file has no "
                        + "section [services \(name)]",
                    remedy: "write that section, or take the line out of the profile")
            }
            if let url = services["s3.endpoint_url"] { return url }
        }
        return profile["endpoint_url"]
    }

    /// One of the shared files; empty if it cannot be read.
    private func file(_ variable: String, _ name: String) -> AWSConfigFile {
        AWSConfigFile(parsing: text(self[variable] ?? "\(self["HOME"] ?? "/")/.aws/\(name)") ?? "")
    }
}

/// A configuration file of AWS's tools: sections of names and values.
struct AWSConfigFile: Hashable, Sendable {
    /// By the words between the brackets, with one blank between them. A setting indented below a
    /// name without a value has both names: `s3.endpoint_url`.
    private(set) var sections: [String: [String: String]] = [:]

    /// Skips invalid lines, as AWS's own tools do.
    init(parsing text: String) {
        var section: String?
        var parent: String?
        // Some editors begin a file with a byte order mark.
        let isMarked = text.unicodeScalars.first == "\u{FEFF}"
        let lines = text.unicodeScalars.dropFirst(isMarked ? 1 : 0)
        for line in String(lines).split(whereSeparator: \.isNewline) {
            let trimmed = line.trimmingCharacters(in: .whitespacesAndNewlines)
            if trimmed.isEmpty || trimmed.hasPrefix("#") || trimmed.hasPrefix(";") { continue }
            if line.first == " " || line.first == "\t" {
                // Below a value, the line continues that value; no setting read here has such a one.
                if let section, let parent, let (name, value) = Self.setting(trimmed) {
                    sections[section, default: [:]]["\(parent).\(name)"] = value
                }
            } else if trimmed.hasPrefix("[") {
                let title = trimmed.dropFirst().prefix { $0 != "]" }
                section = title.split(whereSeparator: \.isWhitespace).joined(separator: " ")
                parent = nil
            } else if let section, let (name, value) = Self.setting(trimmed) {
                sections[section, default: [:]][name] = value
                parent = value.isEmpty ? name : nil
            }
        }
    }

    private static func setting(_ line: String) -> (name: String, value: String)? {
        guard let equals = line.firstIndex(of: "=") else { return nil }
        var value = line[line.index(after: equals)...].trimmingCharacters(in: .whitespaces)
        for comment in [" #", " ;", "\t#", "\t;"] {
            if let start = value.firstRange(of: comment) {
                value = value[..<start.lowerBound].trimmingCharacters(in: .whitespaces)
            }
        }
        return (line[..<equals].trimmingCharacters(in: .whitespaces).lowercased(), value)
    }
}
