import ProviderSupport

/// Parses a `DAV:multistatus` (RFC 4918, 13) piece by piece.
///
/// Only properties with a status of success count. The length of a value, the number of responses and the
/// depth of elements are bounded.
final class MultistatusParser: XMLPushParser.Handler {
    /// The length of one href or property.
    static let valueBytesMax = 64 << 10
    static let depthMax = 64

    /// The name space of WebDAV.
    static let dav = "DAV:"
    /// The name space of Nextcloud's and ownCloud's extensions.
    static let ownCloud = "http://owncloud.org/ns"
    private static let permissions = "O:permissions"
    private static let identity = "O:fileid"

    private enum Element {
        case multistatus, response, href, status, propstat, properties
        case property(String)
        case lockToken, lockHref
        case collection
        case other
    }

    private let responsesMax: Int
    private var parser: XMLPushParser?
    private var path: [Element] = []
    private var text: [UInt8] = []
    private var count = 0
    private var hasRoot = false
    private var entry = WebDAVEntry()
    /// The complete responses that were not popped.
    private(set) var entries: ArraySlice<WebDAVEntry> = []
    /// The contents of a propstat, until its status is known.
    private var found = WebDAVEntry()
    private var foundStatus: Int?

    init(responsesMax: Int = 10_000_000) throws(XMLError) {
        self.responsesMax = responsesMax
        parser = try XMLPushParser(self)
    }

    func feed(_ bytes: [UInt8]) throws(XMLError) {
        try parser?.feed(bytes)
    }

    /// Returns the next response that is complete; nil if there is none yet.
    func pop() -> WebDAVEntry? { entries.popFirst() }

    /// - Throws: If the document is incomplete or not a multistatus.
    func finish() throws(XMLError) {
        try parser?.finish()
        guard hasRoot, path.isEmpty else { throw XMLError("it is not a multistatus") }
    }

    // MARK: Events

    func start(_ name: String, in space: String) throws(XMLError) {
        guard path.count < Self.depthMax else { throw XMLError("it is nested too deeply") }
        let element = self.element(name, space)
        switch element {
        case .multistatus: hasRoot = true
        case .response:
            count += 1
            guard count <= responsesMax else {
                throw XMLError("it has more than \(responsesMax) responses")
            }
            entry = WebDAVEntry()
        case .propstat:
            found = WebDAVEntry()
            foundStatus = nil
        case .collection: found.isCollection = true
        default: break
        }
        if path.isEmpty, !hasRoot { throw XMLError("it is not a multistatus but a \"\(name)\"") }
        path.append(element)
        text.removeAll(keepingCapacity: true)
    }

    func text(_ bytes: UnsafeBufferPointer<UInt8>) throws(XMLError) {
        switch path.last {
        case .href, .status, .property, .lockHref: break
        default: return
        }
        guard text.count + bytes.count <= Self.valueBytesMax else {
            throw XMLError("a value in it is longer than \(Self.valueBytesMax) bytes")
        }
        text += bytes
    }

    func end() throws(XMLError) {
        guard let element = path.popLast() else { return }
        switch element {
        case .href: entry.href = value
        case .status: noteStatus()
        case .property(let name): noteProperty(name)
        case .lockHref: found.lockTokens.append(value)
        case .propstat: takePropstat()
        case .response: entries.append(entry)
        default: break
        }
        text.removeAll(keepingCapacity: true)
    }

    /// Returns the meaning of an element in its context.
    private func element(_ name: String, _ space: String) -> Element {
        let isDAV = space == Self.dav
        switch (path.last, name) {
        case (nil, "multistatus") where isDAV: return .multistatus
        case (.multistatus, "response") where isDAV: return .response
        case (.response, "href") where isDAV: return .href
        case (.response, "status") where isDAV, (.propstat, "status") where isDAV: return .status
        case (.response, "propstat") where isDAV: return .propstat
        case (.propstat, "prop") where isDAV: return .properties
        case (.properties, _) where isDAV: return .property(name)
        // Also the one that tests whether properties are kept.
        case (.properties, _) where space == WebDAVAttributes.space:
            return .property(WebDAVAttributes.name)
        case (.properties, "permissions") where space == Self.ownCloud:
            return .property(Self.permissions)
        case (.properties, "fileid") where space == Self.ownCloud: return .property(Self.identity)
        case (.property("resourcetype"), "collection") where isDAV: return .collection
        case (.other, "locktoken") where isDAV: return .lockToken
        case (.lockToken, "href") where isDAV: return .lockHref
        default: return .other
        }
    }

    private var value: String {
        var bytes = text[...]
        let isBlank = { (byte: UInt8) in byte == 0x20 || (0x09...0x0D).contains(byte) }
        bytes = bytes.drop(while: isBlank)
        while let last = bytes.last, isBlank(last) { bytes.removeLast() }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// `HTTP/1.1 404 Not Found`
    private func noteStatus() {
        let parts = value.split(separator: " ")
        let status = parts.count > 1 ? Int(parts[1]) ?? 0 : 0
        if case .propstat = path.last {
            foundStatus = status
        } else {
            entry.status = status
        }
    }

    private func noteProperty(_ name: String) {
        switch name {
        case "getetag": found.etag = value.isEmpty ? nil : value
        case "getcontentlength": found.length = value.isEmpty ? nil : value
        case "getlastmodified": found.lastModified = value.isEmpty ? nil : value
        case "creationdate": found.created = WebDAVVersion.isTime(value) ? value : nil
        case WebDAVAttributes.name: found.attributes = value
        case Self.permissions: found.permissions = value
        case Self.identity: found.identity = value
        case "quota-available-bytes": found.quotaAvailable = value
        case "quota-used-bytes": found.quotaUsed = value
        default: break
        }
    }

    private func takePropstat() {
        let status = foundStatus ?? 0
        entry.worstPropertyStatus = max(entry.worstPropertyStatus ?? 0, status)
        guard (200..<300).contains(status) else {
            if status != 404 {
                entry.refusedPropertyStatus = max(entry.refusedPropertyStatus ?? 0, status)
            }
            return
        }
        entry.isDescribed = true
        entry.isCollection = entry.isCollection || found.isCollection
        entry.etag = found.etag ?? entry.etag
        entry.length = found.length ?? entry.length
        entry.lastModified = found.lastModified ?? entry.lastModified
        entry.created = found.created ?? entry.created
        entry.attributes = found.attributes ?? entry.attributes
        entry.lockTokens += found.lockTokens
        entry.permissions = found.permissions ?? entry.permissions
        entry.identity = found.identity ?? entry.identity
        entry.quotaAvailable = found.quotaAvailable ?? entry.quotaAvailable
        entry.quotaUsed = found.quotaUsed ?? entry.quotaUsed
    }
}
