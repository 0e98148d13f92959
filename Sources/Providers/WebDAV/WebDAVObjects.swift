import Engine
import ProviderSupport

/// Translates entries of a multistatus into objects, and compares versions.
struct WebDAVObjects: Sendable {
    let server: WebDAVServer

    /// The root has no name in its own tree.
    static let rootName: FileName = {
        guard let name = FileName("root") else { preconditionFailure("`root` is a file name") }
        return name
    }()

    /// - Parameter entry: With its size if it is a file; see ``WebDAVLookup/entry(at:properties:)``.
    /// - Returns: The object, and whether its version tag stays the same while nothing changes.
    func object(
        _ entry: WebDAVEntry, named name: FileName
    ) -> (object: RemoteObject, isStable: Bool) {
        let attributes =
            server.keepsProperties ? entry.attributes.map(WebDAVAttributes.init(parsing:)) : nil
        let modified = entry.modified ?? Timestamp(seconds: 0)
        let mode = mode(of: entry, attributes)
        let extendedAttributes =
            server.keepsProperties
            ? attributes?.extendedAttributes ?? ExtendedAttributes() : nil
        if entry.isCollection {
            let directory = RemoteObject(
                name: name, kind: .directory, etag: nil, size: 0,
                modified: attributes?.modified ?? modified, mode: mode,
                extendedAttributes: extendedAttributes)
            return (directory, true)
        }
        let version = WebDAVVersion(entry)
        let isOurs = attributes?.etag == version.opaqueTag
        if isOurs, let target = attributes?.target {
            let link = RemoteObject(
                name: name, kind: .symlink, etag: nil, size: 0,
                modified: attributes?.modified ?? modified, mode: mode, target: target)
            return (link, true)
        }
        // A version of ours never replaces another within one tick of the server's clock, see
        // `WebDAVSender.putDistinct`, and its nonce tells it from all others. So its tag is as good
        // as a strong one.
        let nonce = isOurs ? attributes?.nonce : nil
        let isStable = server.tagsStartWeak && nonce != nil
        let file = RemoteObject(
            name: name, kind: .file,
            etag: version.versionTag(
                isStable: isStable, created: server.sharesTags ? entry.created : nil,
                nonce: server.sharesTags ? nonce : nil),
            size: entry.size ?? 0, modified: isOurs ? attributes?.modified ?? modified : modified,
            mode: mode, extendedAttributes: extendedAttributes,
            nonce: nonce.map { WriteNonce($0) })
        return (file, !server.tagsStartWeak || isStable || !version.isWeak)
    }

    /// Returns the mode, without write permission if the server does not let us change the entry, so
    /// that programs fail when they open it.
    private func mode(of entry: WebDAVEntry, _ attributes: WebDAVAttributes?) -> UInt16? {
        let usual: UInt16 = entry.isCollection ? 0o755 : 0o644
        guard entry.isChangeable else { return (attributes?.mode ?? usual) & ~0o222 }
        // If properties are not kept, the mode that was set on this machine counts.
        let isTold = server.keepsProperties && entry.permissions != nil
        return attributes?.mode ?? (isTold ? usual : nil)
    }

    /// Returns the nonce of a version that we wrote, which stays with it wherever it is moved.
    func nonce(of entry: WebDAVEntry) -> String? {
        guard !entry.isCollection,
            let attributes = entry.attributes.map(WebDAVAttributes.init(parsing:)),
            attributes.etag == WebDAVVersion(entry).opaqueTag
        else { return nil }
        return attributes.nonce
    }

    /// Whether an entry can be `former` after a move.
    ///
    /// - Parameter nonce: The nonce of `former`, if it has one.
    func mayHaveMoved(
        _ entry: WebDAVEntry, from former: WebDAVEntry, nonce: String?
    ) -> Bool {
        if let nonce, let arrived = self.nonce(of: entry), arrived != nonce { return false }
        return WebDAVVersion(entry).mayHaveMoved(from: WebDAVVersion(former))
    }

    // MARK: Expectations

    /// - Parameter entry: The entry at the key; nil if there is none.
    /// - Throws: `.exists`, `.missing`, `.wrongKind` or `.changed` unless it is as `base` says.
    func expect(
        _ base: BaseVersion, of entry: WebDAVEntry?, named name: FileName
    ) throws(ProviderError) {
        switch base {
        case .absent:
            guard entry == nil else { throw .nameTaken }
        case .version(let tag):
            guard let entry else { throw .notThere }
            try expect(tag, of: entry, named: name)
        }
    }

    /// - Parameter tag: The version of a file; nil for every other kind.
    func expect(
        _ tag: ETag?, of entry: WebDAVEntry, named name: FileName
    ) throws(ProviderError) {
        let object = object(entry, named: name).object
        guard (object.kind == .file) == (tag != nil) else {
            throw ProviderError(.wrongKind, "it is a \(object.kind) now")
        }
        try object.expect(tag)
    }
}

extension RemoteObject {
    /// - Throws: `.changed` if it is another version; `tag` is nil for every kind except files.
    func expect(_ tag: ETag?) throws(ProviderError) {
        guard let tag, let etag else {
            guard tag == etag else { throw otherVersion }
            return
        }
        guard WebDAVVersion.isSame(tag, as: etag) else { throw otherVersion }
    }

    private var otherVersion: ProviderError {
        ProviderError(.changed, "it is version \(etag?.description ?? "none") now")
    }
}

extension ProviderError {
    static let notThere = ProviderError(.missing, "it does not exist")
    static let nameTaken = ProviderError(.exists, "the name is taken")
    /// The entry changed between two of our own requests.
    static let changedMeanwhile = ProviderError(
        .changed, "another client wrote it at the same time")
}
