import Engine

/// What tells one version of a file from another, as far as the server says.
///
/// Its ``mark`` is a strong entity tag (RFC 9110, 8.8.3) where the server has one. Else it is put
/// together of the weak tag, the time and the length, which is as good as the server allows.
///
/// `"5-64b1c" 2026-11-21T08:09:57Z 0123456789abcdef` is a mark of a server whose tags are made of time
/// and length, so that two files may share one and a move brings it to another name: the tag, when
/// the file came under its name, and the word that our property has for a version of ours.
struct WebDAVVersion: Hashable {
    /// As written, `W/` included; nil where there is none.
    let etag: String?
    /// As written.
    let lastModified: String?
    let size: UInt64?

    init(etag: String?, lastModified: String?, size: UInt64?) {
        self.etag = etag
        self.lastModified = lastModified
        self.size = size
    }

    init(_ entry: WebDAVEntry) {
        self.init(etag: entry.etag, lastModified: entry.lastModified, size: entry.size)
    }

    var isWeak: Bool { etag?.hasPrefix("W/") ?? true }

    /// The tag without `W/`; where there is none, what else there is.
    var stamp: String {
        guard let etag else { return composite }
        return isWeak ? String(etag.dropFirst(2)) : etag
    }

    /// What is between the quotes of a tag, weak or not.
    static func opaque(_ etag: String) -> String {
        let tag = etag.hasPrefix("W/") ? etag.dropFirst(2) : etag[...]
        return tag.filter { $0 != "\"" }
    }

    /// Whether this can be what `other` was before a move: not every server keeps a tag through one,
    /// and none is known that keeps neither tag nor time.
    func mayHaveMoved(from other: WebDAVVersion) -> Bool {
        stamp == other.stamp || (size == other.size && lastModified == other.lastModified)
    }

    /// - Parameters:
    ///   - isSettled: Whether no other version can have the same stamp, although the server
    ///     does not say so.
    ///   - created: When the file came under its name, where a tag alone does not tell versions apart.
    ///   - word: That of a version of ours, likewise.
    func mark(isSettled: Bool, created: String? = nil, word: String? = nil) -> ETag {
        // A tag without quotes, which RFC 9110 does not know, might look like a composite.
        let isByItself = (!isWeak || isSettled) && !stamp.hasPrefix("~")
        guard isByItself else { return ETag(composite) }
        guard created != nil || word != nil, stamp.hasSuffix("\"") else { return ETag(stamp) }
        return ETag("\(stamp) \(created ?? "") \(word ?? "")")
    }

    private struct Parts {
        var tag: String
        var created: Substring?
        var word: Substring?
    }

    /// - Returns: nil for a composite.
    private static func parts(of mark: ETag) -> Parts? {
        let text = mark.description
        if text.hasPrefix("~") { return nil }
        let words = text.split(separator: " ", omittingEmptySubsequences: false)
        // Servers have sent stranger tags than RFC 9110 knows, also with blanks and quotes in them.
        guard words.count >= 3, words[words.count - 3].hasSuffix("\"") else {
            return Parts(tag: text)
        }
        let (created, word) = (words[words.count - 2], words[words.count - 1])
        guard created.isEmpty || isTime(created), word.isEmpty || WebDAVAttributes.isWord(word)
        else { return Parts(tag: text) }
        return Parts(
            tag: words.dropLast(2).joined(separator: " "), created: created.isEmpty ? nil : created,
            word: word.isEmpty ? nil : word)
    }

    /// Whether it looks like a time of RFC 3339, and can be part of a mark.
    static func isTime(_ text: some StringProtocol) -> Bool {
        (1...40).contains(text.utf8.count)
            && text.utf8.allSatisfy { "0123456789-:.+TZ".utf8.contains($0) }
    }

    /// The tag in a mark, which a server can be asked for; nil where it has none by itself.
    static func tag(of mark: ETag) -> String? { parts(of: mark)?.tag }

    /// Whether `mark` says all that `former` did, and perhaps more: what was not known of a version at
    /// first, as its word before our property has arrived, makes it no other one.
    static func isSame(_ former: ETag, as mark: ETag) -> Bool {
        if former == mark { return true }
        guard let old = parts(of: former), let new = parts(of: mark) else { return false }
        return old.tag == new.tag && (old.created == nil || old.created == new.created)
            && (old.word == nil || old.word == new.word)
    }

    private var composite: String {
        "~\(etag ?? "");\(time ?? "");\(size.map(String.init) ?? "")"
    }

    /// The time without what stands between the parts of a composite.
    private var time: String? { lastModified?.replacing(";", with: ",") }

    /// Whether an answer that says this of itself can be of the version with `mark`: nothing that
    /// both tell differs.
    func canBe(_ mark: ETag) -> Bool {
        if let tag = Self.tag(of: mark) { return etag == nil || stamp == tag }
        let parts = mark.description.dropFirst().split(
            separator: ";", omittingEmptySubsequences: false)
        guard parts.count >= 3 else { return false }
        let expected = Self(
            etag: parts.dropLast(2).joined(separator: ";"),
            lastModified: String(parts[parts.count - 2]), size: UInt64(parts[parts.count - 1]))
        let isOtherTag = etag != nil && expected.etag != "" && stamp != expected.stamp
        let isOtherTime = time != nil && expected.time != "" && time != expected.time
        let isOtherSize = size != nil && expected.size != nil && size != expected.size
        return !isOtherTag && !isOtherTime && !isOtherSize
    }
}
