import Engine
import Transport

/// What a multistatus answer says of one resource, as it was said.
struct WebDAVEntry: Hashable {
    /// The path as it was written: absolute or with a host, percent-encoded.
    var href = ""
    /// The status of the whole response, where it has one instead of properties.
    var status: Int?
    /// The worst status of any property that was set.
    var worstPropertyStatus: Int?
    var isCollection = false
    /// As written, with quotes and `W/`.
    var etag: String?
    var length: String?
    var lastModified: String?
    /// Our own property, see ``WebDAVAttributes``.
    var attributes: String?
    /// The tokens of the locks on it.
    var lockTokens: [String] = []
    /// What may be done with it, a letter each: `RGDNVW` (ownCloud's `permissions`).
    var permissions: String?
    var quotaAvailable: String?
    var quotaUsed: String?

    /// Bytes; nil where there is no length, or none that makes sense.
    var size: UInt64? {
        guard let length, length.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return UInt64(length).flatMap { $0 <= UInt64(Int64.max) ? $0 : nil }
    }

    /// Whether the server lets us write to the file, or make anything in the collection.
    var isChangeable: Bool {
        guard let permissions else { return true }
        return permissions.contains { isCollection ? "CK".contains($0) : $0 == "W" }
    }

    var modified: Timestamp? {
        lastModified.flatMap(HTTPDate.seconds).map { Timestamp(seconds: $0) }
    }

    /// A name that is only locked: nothing is there yet (RFC 2518, 7.4).
    var isLockAlone: Bool {
        !isCollection && etag == nil && length == nil && lastModified == nil
    }
}
