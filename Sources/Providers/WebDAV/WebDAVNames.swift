import Engine
import Foundation
import SystemCalls

extension WebDAVServer {
    /// Returns the last name of a key, if the server can store it.
    func storableName(of key: ObjectKey) throws(ProviderError) -> FileName {
        guard let name = key.names.last else {
            throw ProviderError(.exists, "the root always exists")
        }
        guard let (reason, remedy) = refusal(of: name) else { return name }
        throw ProviderError(.unsupported, reason, remedy: remedy)
    }

    /// Returns why a name cannot be stored, and a remedy; nil if it can be stored.
    private func refusal(of name: FileName) -> (reason: String, remedy: String)? {
        if hidesDotNames, name.bytes.first == UInt8(ascii: ".") {
            return (
                "the server hides names that begin with a dot, as \"\(name)\" does",
                "use another name, or a server that shows them, such as Apache"
            )
        }
        if hidesDavfsNames, name.bytes.starts(with: Self.davfsPrefix.utf8) {
            return (
                "Apache hides names that begin with \(Self.davfsPrefix), as \"\(name)\" does",
                "use another name"
            )
        }
        if WebDAVName.isReserved(name) {
            return ("\"\(name)\" is reserved for Apus", "use another name")
        }
        if !keepsAnyBytesInNames, String(validating: name.bytes, as: UTF8.self) == nil {
            return ("the server accepts names in UTF-8 only, not \"\(name)\"", "use another name")
        }
        if composesNames, !WebDAVName.isComposed(name) {
            return (
                "the server stores names in Unicode's composed form (NFC) only",
                "rename \"\(name)\""
            )
        }
        return nil
    }
}

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
