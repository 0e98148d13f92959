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
    /// Whether the server tells any property.
    var isDescribed = false
    /// The worst status of any property that the server would not tell, which is more than that
    /// there is none; 0 for a status that cannot be read.
    var refusedPropertyStatus: Int?
    var isCollection = false
    /// As written, with quotes and `W/`.
    var etag: String?
    var length: String?
    var lastModified: String?
    /// As written; nil where that is no time.
    var created: String?
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

    /// Whether it is known how large it is, if it is a file.
    var isSized: Bool { isCollection || size != nil }

    /// Whether the server lets us write to the file, or make anything in the collection.
    var isChangeable: Bool {
        guard let permissions else { return true }
        return permissions.contains { isCollection ? "CK".contains($0) : $0 == "W" }
    }

    var modified: Timestamp? {
        lastModified.flatMap(HTTPDate.seconds).map { Timestamp(seconds: $0) }
    }

    enum Presence: Hashable {
        case present
        case missing
        /// A name that is only locked: nothing is there yet (RFC 2518, 7.4). The server tells that
        /// it has none of the properties of a file.
        case lockAlone
        /// The server does not tell what is there, which is no word that nothing is; with its
        /// status, 0 for none that can be read.
        case untold(Int)
    }

    var presence: Presence {
        if let status, !(200..<300).contains(status) {
            return status == 404 ? .missing : .untold(status)
        }
        if isCollection || etag != nil || length != nil || lastModified != nil { return .present }
        if let refusedPropertyStatus { return .untold(refusedPropertyStatus) }
        return isDescribed ? .lockAlone : .untold(worstPropertyStatus ?? 0)
    }
}
