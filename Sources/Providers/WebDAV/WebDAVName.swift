import Engine
import Foundation
import SystemCalls

/// Reserved names, which are never listed: `.apus-new-RANDOM` is an unfinished upload.
enum WebDAVName {
    private static let prefix = ".apus-new-"

    static func new() -> FileName {
        let text = prefix + Hexadecimal.nonce()
        guard let name = FileName(text) else {
            preconditionFailure("a reserved name is short and without slash: \(text)")
        }
        return name
    }

    static func isReserved(_ name: FileName) -> Bool {
        name.bytes.starts(with: prefix.utf8)
            && Hexadecimal.isNonce(name.bytes.dropFirst(prefix.utf8.count))
    }

    /// Whether a name is in Unicode's composed form (NFC).
    static func isComposed(_ name: FileName) -> Bool {
        guard let text = String(validating: name.bytes, as: UTF8.self) else { return false }
        return name.bytes.elementsEqual(text.precomposedStringWithCanonicalMapping.utf8)
    }
}
