import GRDB

/// Replaces the numbers of inodes in texts by paths: `open "a/b"` for `open inode 17`.
///
/// The path is that of now. Errors and log entries name inodes by their numbers, as most of them are made
/// without the database at hand, and never shown.
package struct InodeNaming: Sendable {
    private let store: Store

    package init(_ engine: Engine) {
        store = engine.store
    }

    package func text(_ text: String) -> String {
        guard text.contains(InodeText.word) else { return text }
        let named = try? store.read { try $0.namingInodes(in: text) }
        return named ?? text
    }
}

extension Database {
    /// As `InodeNaming`.
    func namingInodes(in text: String) throws -> String {
        try InodeText.replacing(in: text) { inode in
            if inode == .root { return "the mount point" }
            let path = try path(of: inode)
            return path.isEmpty ? nil : "\"\(ObjectKey(path))\""
        }
    }

    /// As `InodeNaming`.
    func namingInodes(in failure: SyncFailure) throws -> SyncFailure {
        guard failure.what.contains(InodeText.word) || failure.why.contains(InodeText.word) else {
            return failure
        }
        var failure = failure
        failure.what = try namingInodes(in: failure.what)
        failure.why = try namingInodes(in: failure.why)
        return failure
    }
}

/// Finds the numbers of inodes in texts.
private enum InodeText {
    static let word = "inode "

    /// - Parameter name: The text instead; nil for none.
    static func replacing(
        in text: String, _ name: (InodeNumber) throws -> String?
    ) rethrows -> String {
        var (result, rest) = ("", text[...])
        while let found = rest.firstRange(of: word) {
            let digits = rest[found.upperBound...].prefix { $0.isASCII && $0.isNumber }
            result += rest[..<found.lowerBound]
            rest = rest[found.upperBound...].dropFirst(digits.count)
            guard let number = Int64(digits) else {
                result += word + digits
                continue
            }
            result += try name(InodeNumber(rawValue: number)) ?? "a removed item (\(word)\(digits))"
        }
        return result + rest
    }
}
