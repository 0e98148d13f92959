import Engine
import Foundation

/// Reserved names, which are never listed: `.apus-new-RANDOM` is an unfinished upload.
enum WebDAVName {
    private static let prefix = ".apus-new-"
    private static let randomDigits = 16

    static func new() -> FileName {
        let digits = String(UInt64.random(in: .min ... .max), radix: 16)
        let text = prefix + String(repeating: "0", count: randomDigits - digits.count) + digits
        guard let name = FileName(text) else {
            preconditionFailure("a reserved name is short and without slash: \(text)")
        }
        return name
    }

    static func isReserved(_ name: FileName) -> Bool {
        let digits = name.bytes.dropFirst(prefix.utf8.count)
        return name.bytes.starts(with: prefix.utf8) && digits.count == randomDigits
            && digits.allSatisfy("0123456789abcdef".utf8.contains)
    }

    /// Whether a name is in Unicode's composed form (NFC).
    static func isComposed(_ name: FileName) -> Bool {
        guard let text = String(validating: name.bytes, as: UTF8.self) else { return false }
        return name.bytes.elementsEqual(text.precomposedStringWithCanonicalMapping.utf8)
    }
}
