import Engine
import SystemCalls

/// The information that distinguishes versions of a file, as far as the server reports it.
///
/// The version tag is a strong entity tag (RFC 9110, 8.8.3) if the server has one. Otherwise it combines
/// the weak tag, the time and the length, which is the best that the server allows.
///
/// `"5-64b1c" 2026-11-21T08:09:57Z 0123456789abcdef` is the version tag on a server that makes entity
/// tags from time and length, so that two files may share one and a move brings it to another name: the
/// entity tag, the time at which the file got its name, and the nonce in our property of a version that
/// we wrote.
struct WebDAVVersion: Hashable {
    /// As sent, `W/` included.
    let etag: String?
    /// As sent.
    let lastModified: String?
    let size: UInt64?

    var isWeak: Bool { etag?.hasPrefix("W/") ?? true }

    /// The opaque tag of RFC 9110, which is the entity tag without `W/`; else the composite.
    var opaqueTag: String {
        guard let etag else { return composite }
        return isWeak ? String(etag.dropFirst(2)) : etag
    }

    /// Returns an entity tag without `W/` and quotes.
    static func unquoted(_ etag: String) -> String {
        let tag = etag.hasPrefix("W/") ? etag.dropFirst(2) : etag[...]
        return tag.filter { $0 != "\"" }
    }

    /// Whether this can be `other` after a move: some servers change the tag, none is known to change both
    /// tag and time.
    func mayHaveMoved(from other: WebDAVVersion) -> Bool {
        opaqueTag == other.opaqueTag || (size == other.size && lastModified == other.lastModified)
    }

    /// - Parameters:
    ///   - isStable: Whether no other version can have the same entity tag, although it is weak.
    ///   - created: The time at which the file got its name, if entity tags are not unique.
    ///   - nonce: The nonce of a version that we wrote, likewise.
    func versionTag(isStable: Bool, created: String? = nil, nonce: String? = nil) -> ETag {
        // A tag without quotes, which RFC 9110 does not allow, might look like a composite.
        let isUnique = (!isWeak || isStable) && !opaqueTag.hasPrefix("~")
        guard isUnique else { return ETag(composite) }
        guard created != nil || nonce != nil, opaqueTag.hasSuffix("\"") else {
            return ETag(opaqueTag)
        }
        return ETag("\(opaqueTag) \(created ?? "") \(nonce ?? "")")
    }

    private struct Parts {
        var etag: String
        var created: Substring?
        var nonce: Substring?
    }

    /// - Returns: nil for a composite.
    private static func parts(of tag: ETag) -> Parts? {
        let text = tag.description
        if text.hasPrefix("~") { return nil }
        let fields = text.split(separator: " ", omittingEmptySubsequences: false)
        // Some servers send tags with blanks and quotes in them, against RFC 9110.
        guard fields.count >= 3, fields[fields.count - 3].hasSuffix("\"") else {
            return Parts(etag: text)
        }
        let (created, nonce) = (fields[fields.count - 2], fields[fields.count - 1])
        guard created.isEmpty || isTime(created), nonce.isEmpty || Hexadecimal.isNonce(nonce.utf8)
        else { return Parts(etag: text) }
        return Parts(
            etag: fields.dropLast(2).joined(separator: " "),
            created: created.isEmpty ? nil : created, nonce: nonce.isEmpty ? nil : nonce)
    }

    /// Whether a text looks like a time of RFC 3339, as part of a version tag.
    static func isTime(_ text: some StringProtocol) -> Bool {
        (1...40).contains(text.utf8.count)
            && text.utf8.allSatisfy { "0123456789-:.+TZ".utf8.contains($0) }
    }

    /// Returns the entity tag in a version tag, for use in conditions; nil for a composite.
    static func etag(in tag: ETag) -> String? { parts(of: tag)?.etag }

    /// Returns the time at which the file got its name, as the server tells it; nil if the version tag has none.
    static func created(in tag: ETag) -> String? { parts(of: tag)?.created.map(String.init) }

    /// Whether `tag` has all parts of `former`. It may have more of them: the nonce, for example, is unknown
    /// until our property is set.
    static func isSame(_ former: ETag, as tag: ETag) -> Bool {
        if former == tag { return true }
        guard let old = parts(of: former), let new = parts(of: tag) else { return false }
        return old.etag == new.etag && (old.created == nil || old.created == new.created)
            && (old.nonce == nil || old.nonce == new.nonce)
    }

    /// Whether a move may be all that happened between two versions: it gives a file another time of
    /// creation, and keeps tag and nonce. A tag alone is no proof, as some servers make it from size and
    /// time.
    static func hasSameBytes(_ former: ETag, as tag: ETag) -> Bool {
        guard let old = parts(of: former), let new = parts(of: tag) else { return former == tag }
        guard let nonce = old.nonce else { return former == tag }
        return old.etag == new.etag && new.nonce == nonce
    }

    private var composite: String {
        "~\(etag ?? "");\(time ?? "");\(size.map(String.init) ?? "")"
    }

    /// The time without the separator of a composite.
    private var time: String? { lastModified?.replacing(";", with: ",") }

    /// Whether an answer with these headers can be of the version `tag`: no part that both have differs.
    func canBe(_ tag: ETag) -> Bool {
        if let expected = Self.etag(in: tag) { return etag == nil || opaqueTag == expected }
        let parts = tag.description.dropFirst().split(
            separator: ";", omittingEmptySubsequences: false)
        guard parts.count >= 3 else { return false }
        let expected = Self(
            etag: parts.dropLast(2).joined(separator: ";"),
            lastModified: String(parts[parts.count - 2]), size: UInt64(parts[parts.count - 1]))
        let isOtherTag = etag != nil && expected.etag != "" && opaqueTag != expected.opaqueTag
        let isOtherTime = time != nil && expected.time != "" && time != expected.time
        let isOtherSize = size != nil && expected.size != nil && size != expected.size
        return !isOtherTag && !isOtherTime && !isOtherSize
    }
}

extension WebDAVVersion {
    init(_ entry: WebDAVEntry) {
        self.init(etag: entry.etag, lastModified: entry.lastModified, size: entry.size)
    }
}
