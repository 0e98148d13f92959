import Engine

/// What tells one version of a file from another, as far as the server says.
///
/// Its ``mark`` is a strong entity tag (RFC 9110, 8.8.3) where the server has one. Else it is put
/// together of the weak tag, the time and the length, which is as good as the server allows.
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

    /// - Parameter isSettled: Whether no other version can have the same stamp, although the server
    ///   does not say so.
    func mark(isSettled: Bool) -> ETag {
        // A tag without quotes, which RFC 9110 does not know, might look like a composite.
        let isByItself = (!isWeak || isSettled) && !stamp.hasPrefix("~")
        return ETag(isByItself ? stamp : composite)
    }

    private var composite: String {
        "~\(etag ?? "");\(time ?? "");\(size.map(String.init) ?? "")"
    }

    /// The time without what stands between the parts of a composite.
    private var time: String? { lastModified?.replacing(";", with: ",") }

    /// Whether `mark` is a tag by itself, which a server can be asked for.
    static func isTag(_ mark: ETag) -> Bool { !mark.description.hasPrefix("~") }

    /// Whether an answer that says this of itself can be of the version with `mark`: nothing that
    /// both tell differs.
    func canBe(_ mark: ETag) -> Bool {
        if Self.isTag(mark) { return etag == nil || stamp == mark.description }
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
