import Engine
import SystemCalls

/// The names that this provider reserves for itself, and never lists.
///
/// `.apus-new-RANDOM` is a file that is being written; its writer holds a lock (`flock`) on it.
/// `.apus-swap-VERSION+VERSION-RANDOM` is a file that replaces another or was replaced. As a leftover
/// it may be deleted if it is one of the two versions; any other belongs to another program and must
/// be kept.
enum FolderName {
    private static let newPrefix = ".apus-new-"
    private static let swapPrefix = ".apus-swap-"
    private static let randomDigits = 16

    static func new() -> FileName {
        name(newPrefix + Hexadecimal.nonce())
    }

    static func swap(_ first: String, _ second: String) -> FileName {
        name("\(swapPrefix)\(first)+\(second)-\(Hexadecimal.nonce())")
    }

    static func isReserved(_ name: FileName) -> Bool {
        isNew(name) || swapVersions(of: name) != nil
    }

    static func isNew(_ name: FileName) -> Bool {
        guard name.bytes.starts(with: newPrefix.utf8) else { return false }
        return Hexadecimal.isNonce(name.bytes.dropFirst(newPrefix.utf8.count))
    }

    /// The versions that may be deleted under a swap name; nil for every other name.
    static func swapVersions(of name: FileName) -> [String]? {
        guard name.bytes.starts(with: swapPrefix.utf8) else { return nil }
        let text = String(decoding: name.bytes.dropFirst(swapPrefix.utf8.count), as: UTF8.self)
        guard text.utf8.count > randomDigits, Hexadecimal.isNonce(text.utf8.suffix(randomDigits))
        else { return nil }
        let versions = text.dropLast(randomDigits + 1).split(separator: "+").map(String.init)
        return versions.count == 2 ? versions : nil
    }

    private static func name(_ text: String) -> FileName {
        guard let name = FileName(text) else {
            preconditionFailure("a reserved name is short and without slash: \(text)")
        }
        return name
    }
}
