import Foundation

/// What the process was started with, as far as credentials are concerned.
struct S3Environment: Sendable {
    var values: [String: String]
    /// Gives a file's bytes; nil where it cannot be read.
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

    /// The profile to be used.
    func profileName(given: String?) -> String {
        given ?? self["AWS_PROFILE"] ?? self["AWS_DEFAULT_PROFILE"] ?? "default"
    }

    /// What the shared files say of a profile; of what both say, the credentials file counts.
    func profile(_ name: String) -> [String: String]? {
        let home = self["HOME"] ?? "/"
        let credentials = text(self["AWS_SHARED_CREDENTIALS_FILE"] ?? "\(home)/.aws/credentials")
        let config = text(self["AWS_CONFIG_FILE"] ?? "\(home)/.aws/config")
        let ofCredentials = credentials.flatMap { AWSConfigFile(parsing: $0).sections[name] }
        let ofConfig = config.flatMap { text in
            let sections = AWSConfigFile(parsing: text).sections
            return sections["profile \(name)"] ?? (name == "default" ? sections[name] : nil)
        }
        if ofCredentials == nil && ofConfig == nil { return nil }
        return (ofConfig ?? [:]).merging(ofCredentials ?? [:]) { $1 }
    }
}

/// The files of AWS's tools: sections of names and values.
struct AWSConfigFile: Hashable, Sendable {
    /// By the words between the brackets, with one blank between them.
    private(set) var sections: [String: [String: String]] = [:]

    /// Lines that mean nothing are passed over, as AWS's own tools do.
    init(parsing text: String) {
        var section: String?
        for line in text.split(whereSeparator: \.isNewline) {
            // What is indented belongs to the value above, of which we read none.
            if line.first == " " || line.first == "\t" { continue }
            let trimmed = Self.trimmed(line)
            if trimmed.isEmpty || trimmed.hasPrefix("#") || trimmed.hasPrefix(";") { continue }
            if trimmed.hasPrefix("[") {
                let title = trimmed.dropFirst().prefix { $0 != "]" }
                section = title.split(whereSeparator: \.isWhitespace).joined(separator: " ")
            } else if let section, let equals = trimmed.firstIndex(of: "=") {
                let name = Self.trimmed(trimmed[..<equals]).lowercased()
                var value = Self.trimmed(trimmed[trimmed.index(after: equals)...])
                for comment in [" #", " ;", "\t#", "\t;"] {
                    if let start = value.firstRange(of: comment) {
                        value = Self.trimmed(value[..<start.lowerBound])
                    }
                }
                sections[section, default: [:]][name] = String(value)
            }
        }
    }

    private static func trimmed(_ text: Substring) -> Substring {
        let start = text.drop(while: \.isWhitespace)
        return start.lastIndex { !$0.isWhitespace }.map { start[...$0] } ?? ""
    }
}
