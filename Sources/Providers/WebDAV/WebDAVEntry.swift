import Engine
import ProviderSupport
import Transport

/// The properties of one resource in a multistatus, as sent.
struct WebDAVEntry: Hashable {
    /// A URL or an absolute path, percent-encoded.
    var href = ""
    /// The status of the whole response, if it has one instead of properties.
    var status: Int?
    /// The worst status of any property.
    var worstPropertyStatus: Int?
    /// Whether the server reports any property.
    var isDescribed = false
    /// The worst status, except 404, of any property that the server did not report; 0 for an unreadable
    /// status.
    var refusedPropertyStatus: Int?
    var isCollection = false
    /// As sent, with quotes and `W/`.
    var etag: String?
    var length: String?
    var lastModified: String?
    /// As sent; nil if it is not a time.
    var created: String?
    /// Our own property, see ``WebDAVAttributes``.
    var attributes: String?
    /// The tokens of the locks on it.
    var lockTokens: [String] = []
    /// The permitted operations, a letter each: `RGDNVW` (ownCloud's `permissions`).
    var permissions: String?
    /// Identifies it across moves (ownCloud's `fileid`).
    var identity: String?
    var quotaAvailable: String?
    var quotaUsed: String?

    /// The length in bytes; nil if it is missing or invalid.
    var size: UInt64? {
        guard let length, length.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return UInt64(length).flatMap { $0 <= UInt64(Int64.max) ? $0 : nil }
    }

    /// Whether the size is known, if it is a file.
    var isSized: Bool { isCollection || size != nil }

    /// Whether the server lets us write to the file, or make anything in the collection.
    var isChangeable: Bool {
        guard let permissions else { return true }
        return permissions.contains { isCollection ? "CK".contains($0) : $0 == "W" }
    }

    var modified: Timestamp? {
        lastModified.flatMap(Timestamp.init(httpDate:))
    }

    enum Presence: Hashable {
        case present
        case missing
        /// A locked name without a resource (RFC 2518, 7.4): the server reports that it has none of the
        /// properties of a file.
        case lockAlone
        /// The server does not describe the resource, which may exist; with the status, 0 for an
        /// unreadable one.
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
