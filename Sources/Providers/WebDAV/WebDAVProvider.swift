package import Engine
import Logging

/// A collection on a WebDAV server (RFC 4918).
///
/// Servers implement the standard to different degrees, so a change is made in one of a few ways, see
/// ``WebDAVServer/Replacing``. If the server supports it, a version is checked and changed under a
/// lock. `docs/providers.md` lists the ways by server, and the gaps that remain.
package struct WebDAVProvider: Provider {
    package internal(set) var traits: ProviderTraits
    private let lookup: WebDAVLookup
    private let lister: WebDAVLister
    private let reader: WebDAVReader
    private let writer: WebDAVWriter
    private let properties: WebDAVProperties
    private let directories: WebDAVDirectories
    private let mover: WebDAVMover
    private let remover: WebDAVRemover
    private let feed: WebDAVFeed?

    /// Large enough for few requests, and small enough for proxies with a limit of 100 MB.
    package static let chunkBytesUsual: UInt64 = 16 << 20

    /// - Parameters:
    ///   - pageEntries: The number of entries in a page of a listing.
    ///   - chunkBytes: Larger files are sent in chunks of this size, or in ranges, if the server
    ///     accepts either.
    ///   - checkInterval: The interval at which changes are looked for, if one request can find them.
    init(
        client: WebDAVClient, server: WebDAVServer, logger: Logger, pageEntries: Int = 1_000,
        chunkBytes: UInt64 = Self.chunkBytesUsual, checkInterval: Duration
    ) {
        lookup = WebDAVLookup(client: client, server: server)
        feed =
            server.etagsCoverSubtrees
            ? WebDAVFeed(lookup: lookup, interval: checkInterval, logger: logger) : nil
        let locks = WebDAVLocks(lookup: lookup)
        properties = WebDAVProperties(lookup: lookup)
        lister = WebDAVLister(
            lookup: lookup, pageEntries: pageEntries, feed: feed, logger: logger)
        reader = WebDAVReader(lookup: lookup)
        writer = WebDAVWriter(
            sender: WebDAVSender(lookup: lookup, properties: properties), locks: locks,
            chunkBytes: chunkBytes)
        directories = WebDAVDirectories(lookup: lookup, properties: properties)
        mover = WebDAVMover(lookup: lookup, properties: properties, locks: locks)
        remover = WebDAVRemover(lookup: lookup, locks: locks)
        traits = ProviderTraits(
            name: server.name, keepsMode: server.keepsProperties,
            keepsSymlinks: server.keepsProperties,
            modifiedResolution: server.keepsProperties ? .nanoseconds(1) : nil, transfersMax: 64,
            queriesMax: 32,
            storesAttributesAtOnce: false,
            extendedAttributes: server.keepsProperties ? WebDAVAttributes.room : nil)
    }

    package func entries(of directory: ObjectKey) -> ListingCursor {
        ListingCursor(nil) { listing async throws(ProviderError) in
            try await lister.page(of: directory, &listing)
        }
    }

    package func probe() async throws(ProviderError) {
        try await lookup.probe()
    }

    package func stat(_ key: ObjectKey) async throws(ProviderError) -> RemoteObject {
        try await lookup.object(at: key)
    }

    package var givesFirstBytes: Bool { true }

    package func stat(
        _ key: ObjectKey, firstBytes count: Int
    ) async throws(ProviderError) -> ObjectStart {
        try await reader.start(of: key, bytes: count)
    }

    package func read(
        _ key: ObjectKey, range: Range<UInt64>, etag: ETag, into sink: any ByteSink
    ) async throws(ProviderError) {
        try await reader.read(key, range: range, etag: etag, into: sink)
    }

    package func write(
        _ key: ObjectKey, from source: any ByteSource, attributes: ObjectAttributes,
        base: BaseVersion, session: any UploadSession
    ) async throws(ProviderError) -> RemoteObject {
        try await writer.write(
            key, from: source, attributes: attributes, base: base, session: session)
    }

    package func abandon(_ token: UploadToken, of key: ObjectKey) async throws(ProviderError) {
        try await writer.abandon(token, of: key)
    }

    package func createDirectory(
        _ key: ObjectKey, attributes: ObjectAttributes
    ) async throws(ProviderError) -> RemoteObject {
        try await directories.create(key, attributes: attributes)
    }

    package func createSymlink(
        _ key: ObjectKey, target: [UInt8], attributes: ObjectAttributes
    ) async throws(ProviderError) -> RemoteObject {
        try await writer.createSymlink(key, target: target, attributes: attributes)
    }

    package func setAttributes(
        _ key: ObjectKey, to attributes: ObjectAttributes, only fields: AttributeFields,
        etag: ETag?, nonce: WriteNonce?
    ) async throws(ProviderError) -> RemoteObject {
        try await properties.change(key, to: attributes, only: fields, etag: etag)
    }

    package func move(
        _ key: ObjectKey, etag: ETag?, to destination: ObjectKey, base: BaseVersion,
        continues: Bool, nonce: WriteNonce?, noteCopies: @escaping CopyNote
    ) async throws(ProviderError) -> RemoteObject {
        try await mover.move(key, etag: etag, to: destination, base: base)
    }

    package func delete(_ key: ObjectKey, kind: FileKind, etag: ETag?) async throws(ProviderError) {
        try await remover.delete(key, kind: kind, etag: etag)
    }

    package func isSame(_ former: ETag, as etag: ETag) -> Bool {
        WebDAVVersion.isSame(former, as: etag)
    }

    package func hasSameBytes(_ former: ETag, as etag: ETag) -> Bool {
        WebDAVVersion.hasSameBytes(former, as: etag)
    }

    package func space() async throws(ProviderError) -> StorageSpace? {
        guard
            let entry = try await lookup.entry(
                at: .root, properties: "<D:quota-available-bytes/><D:quota-used-bytes/>"),
            let available = entry.quotaAvailable.flatMap({ UInt64($0) })
        else { return nil }
        let used = entry.quotaUsed.flatMap { UInt64($0) } ?? 0
        let (total, overflow) = available.addingReportingOverflow(used)
        return StorageSpace(totalBytes: overflow ? .max : total, availableBytes: available)
    }

    package func follow(_ directory: ObjectKey) async throws(ProviderError) -> Bool {
        feed?.follow(directory) ?? false
    }

    package func unfollow(_ directory: ObjectKey) { feed?.unfollow(directory) }

    package func changes(since anchor: ChangeAnchor?) async throws(ProviderError) -> ChangeReport {
        guard let feed else {
            throw ProviderError(.unsupported, "the server does not tell what has changed")
        }
        return try await feed.report(since: anchor)
    }

    package func publicLink(to key: ObjectKey) async throws(ProviderError) -> String {
        throw ProviderError(
            .unsupported, "WebDAV has no public links",
            remedy: "share it on the server's own page, if it has one")
    }
}
