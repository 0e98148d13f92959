package import Engine
import Logging
import Transport

/// A collection on a WebDAV server (RFC 4918).
///
/// Servers differ in what they do of what the standard says, so a change is made in one of a few
/// ways, see ``WebDAVServer/Replacing``: wherever a server lets us, what is changed is looked at
/// and changed under a lock. `docs/providers.md` tells which server gets which, and what is left.
package struct WebDAVProvider: Provider {
    package let traits: ProviderTraits
    let client: WebDAVClient
    let server: WebDAVServer
    let clock: any Clock
    let logger: Logger
    let listings: WebDAVListings
    /// Files that are larger go in chunks of this size, or in ranges that can be gone on with, where the
    /// server takes such.
    let chunkBytes: UInt64
    let turns = WebDAVTurns()

    /// How long a server that makes its tags of the time calls a new one weak.
    static let ripening: Duration = .milliseconds(1_100)

    /// Large enough for few requests, and small enough for proxies that stop at 100 MB.
    package static let chunkBytesUsual: UInt64 = 16 << 20

    init(
        client: WebDAVClient, server: WebDAVServer, clock: any Clock, logger: Logger,
        pageEntries: Int = 1_000, chunkBytes: UInt64 = Self.chunkBytesUsual
    ) {
        self.client = client
        self.server = server
        self.clock = clock
        self.logger = logger
        self.chunkBytes = chunkBytes
        listings = WebDAVListings(clock: clock, pageEntries: pageEntries)
        traits = ProviderTraits(
            name: server.name, keepsMode: server.keepsProperties,
            keepsSymlinks: server.keepsProperties,
            modifiedResolution: server.keepsProperties ? .nanoseconds(1) : nil, transfersMax: 8,
            storesAttributesAtOnce: false,
            extendedAttributes: server.keepsProperties ? WebDAVAttributes.room : nil)
    }

    package func stat(_ key: ObjectKey) async throws(ProviderError) -> RemoteObject {
        let attempt = "stat \"\(key)\""
        guard let name = key.names.last else {
            let root = try await found(.root, attempt)
            return object(root, named: Self.rootName).object
        }
        // A server that composes names would answer for another one.
        if WebDAVName.isReserved(name) || server.composesNames && !WebDAVName.isComposed(name) {
            throw ProviderError(.missing, attempt: attempt, reason: "no such name")
        }
        return try await settled(try await found(key, attempt), key, named: name, attempt)
    }

    package func space() async throws(ProviderError) -> StorageSpace? {
        let attempt = "ask for the free space"
        guard
            let entry = try await look(
                at: .root, attempt,
                properties: "<D:quota-available-bytes/><D:quota-used-bytes/>"),
            let available = entry.quotaAvailable.flatMap({ UInt64($0) })
        else { return nil }
        let used = entry.quotaUsed.flatMap { UInt64($0) } ?? 0
        let (total, overflow) = available.addingReportingOverflow(used)
        return StorageSpace(totalBytes: overflow ? .max : total, availableBytes: available)
    }

    package func publicLink(to key: ObjectKey) async throws(ProviderError) -> String {
        throw ProviderError(
            .unsupported, attempt: "make a link to \"\(key)\"",
            reason: "WebDAV has no such thing",
            remedy: "share it on the server's own page, if it has one")
    }

    /// The root has no name in its own tree.
    static let rootName: FileName = {
        guard let name = FileName("root") else { preconditionFailure("`root` is a file name") }
        return name
    }()

    // MARK: Looking

    /// What is asked of each resource.
    var properties: String {
        "<D:resourcetype/><D:getetag/><D:getcontentlength/><D:getlastmodified/>"
            + "<A:\(WebDAVAttributes.name)/>" + (server.sharesTags ? "<D:creationdate/>" : "")
            + (server.tellsPermissions ? "<O:permissions/>" : "")
    }

    /// What is at a key; nil where there is nothing, or no more than a lock.
    ///
    /// - Throws: `.unsupported` for a file whose size the server does not tell: taken for an empty one, it
    ///   would be overwritten with what is appended to nothing.
    func look(
        at key: ObjectKey, _ attempt: String, properties: String? = nil
    ) async throws(ProviderError) -> WebDAVEntry? {
        let entry = try await anything(at: key, attempt, properties ?? self.properties)
        guard key == .root || entry?.isSized ?? true else {
            throw ProviderError(
                .unsupported, attempt: attempt,
                reason: "the server does not tell the size of \"\(key)\" (getcontentlength)",
                remedy: "let the server tell it, or use another name; what it has is left alone")
        }
        return entry
    }

    private func anything(
        at key: ObjectKey, _ attempt: String, _ properties: String
    ) async throws(ProviderError) -> WebDAVEntry? {
        do throws(ProviderError) {
            return try await entry(at: key, isCollection: key == .root, properties, attempt)
        } catch {
            guard error.kind == .unsupported, let parent = key.parent else {
                if error.kind == .missing { return nil }
                throw error
            }
            // Some servers send on to the name of a collection with its slash, and some have no
            // better words for what lies below a file.
            if let entry = try? await entry(at: key, isCollection: true, properties, attempt),
                entry.isCollection
            {
                return entry
            }
            guard try await !isCollection(parent, attempt) else { throw error }
            return nil
        }
    }

    private func entry(
        at key: ObjectKey, isCollection: Bool, _ properties: String, _ attempt: String
    ) async throws(ProviderError) -> WebDAVEntry? {
        let box = WebDAVBox<WebDAVEntry>()
        let address = client.address
        try await client.propfind(
            address.url(key, isCollection: isCollection), depth: 0, properties: properties,
            attempt: attempt
        ) { entry in
            if address.place(of: entry.href, from: key) == .itself { box.value = entry }
        }
        guard let entry = box.value else {
            throw ProviderError(
                .corrupt, attempt: attempt, reason: "the server's answer speaks of something else")
        }
        switch entry.presence {
        case .present: return entry
        case .missing: return nil
        // The root is there, whatever is asked of it.
        case .lockAlone: return key == .root ? entry : nil
        case .untold where key == .root && entry.status == nil: return entry
        case .untold(let status): throw Self.untold(status, of: key, attempt)
        }
    }

    /// The server answers, but not what is at `key`: asked again later, it may.
    static func untold(_ status: Int, of key: ObjectKey, _ attempt: String) -> ProviderError {
        ProviderError(
            .busy, attempt: attempt,
            reason: status == 0
                ? "the server does not tell what \"\(key)\" is"
                : "the server answered \(status) for \"\(key)\"")
    }

    func found(_ key: ObjectKey, _ attempt: String) async throws(ProviderError) -> WebDAVEntry {
        guard let entry = try await look(at: key, attempt) else {
            throw ProviderError(.missing, attempt: attempt, reason: "it is not there")
        }
        return entry
    }

    /// Whether there is a directory at a key; false for what is missing.
    func isCollection(_ key: ObjectKey, _ attempt: String) async throws(ProviderError) -> Bool {
        try await look(at: key, attempt)?.isCollection ?? false
    }

    // MARK: Telling

    /// What an entry is to the engine.
    ///
    /// - Parameter entry: With its size, if it is a file; see ``look(at:_:properties:)``.
    /// - Returns: The object, and whether its mark stays while nothing changes.
    func object(
        _ entry: WebDAVEntry, named name: FileName
    ) -> (object: RemoteObject, isSettled: Bool) {
        let attributes =
            server.keepsProperties
            ? entry.attributes.map(WebDAVAttributes.init(parsing:)) : nil
        let modified = entry.modified ?? Timestamp(seconds: 0)
        let extendedAttributes =
            server.keepsProperties
            ? attributes?.extendedAttributes ?? ExtendedAttributes() : nil
        if entry.isCollection {
            let directory = RemoteObject(
                name: name, kind: .directory, etag: nil, size: 0,
                modified: attributes?.modified ?? modified, mode: mode(of: entry, attributes),
                extendedAttributes: extendedAttributes)
            return (directory, true)
        }
        let version = WebDAVVersion(entry)
        let isOurs = attributes?.stamp == version.stamp
        if isOurs, let target = attributes?.target {
            let link = RemoteObject(
                name: name, kind: .symlink, etag: nil, size: 0,
                modified: attributes?.modified ?? modified, mode: mode(of: entry, attributes),
                target: target)
            return (link, true)
        }
        // Our own version was replaced by no other within the same tick of the server's clock, see
        // `putDiffering`, and its word tells it from every other, so its tag is as good as a strong one.
        let word = isOurs ? attributes?.word : nil
        let isSettled = server.tagsRipen && word != nil
        let file = RemoteObject(
            name: name, kind: .file,
            etag: version.mark(
                isSettled: isSettled, created: server.sharesTags ? entry.created : nil,
                word: server.sharesTags ? word : nil),
            size: entry.size ?? 0, modified: isOurs ? attributes?.modified ?? modified : modified,
            mode: mode(of: entry, attributes), extendedAttributes: extendedAttributes)
        return (file, !server.tagsRipen || isSettled || !version.isWeak)
    }

    /// Of a version of ours, what tells it from every other wherever it is; nil where it has none.
    func word(of entry: WebDAVEntry) -> String? {
        guard server.sharesTags, !entry.isCollection,
            let attributes = entry.attributes.map(WebDAVAttributes.init(parsing:)),
            attributes.stamp == WebDAVVersion(entry).stamp
        else { return nil }
        return attributes.word
    }

    package func isSame(_ former: ETag, as mark: ETag) -> Bool {
        WebDAVVersion.isSame(former, as: mark)
    }

    /// What the server does not let us change is shown without write permission, so that programs hear
    /// of it when they open it; and with it again, once the server lets us.
    private func mode(of entry: WebDAVEntry, _ attributes: WebDAVAttributes?) -> UInt16? {
        let usual: UInt16 = entry.isCollection ? 0o755 : 0o644
        guard entry.isChangeable else { return (attributes?.mode ?? usual) & ~0o222 }
        // Where properties are not kept, the mode that was set on this machine counts.
        let isTold = server.keepsProperties && entry.permissions != nil
        return attributes?.mode ?? (isTold ? usual : nil)
    }

    /// The same, once the tag will not become another one by itself.
    ///
    /// - Parameter afterChange: Whether we have just made it, so that no other version will do:
    ///   `.changed` then.
    func settled(
        _ entry: WebDAVEntry, _ key: ObjectKey, named name: FileName, afterChange: Bool = false,
        _ attempt: String
    ) async throws(ProviderError) -> RemoteObject {
        let (first, isSettled) = object(entry, named: name)
        if isSettled { return first }
        try await wait(Self.ripening, attempt)
        let later = try await found(key, attempt)
        guard !afterChange || WebDAVVersion(later).stamp == WebDAVVersion(entry).stamp else {
            throw ProviderError(
                .changed, attempt: attempt, reason: "somebody else wrote it at this moment")
        }
        return object(later, named: name).object
    }

    // MARK: Expecting

    /// - Throws: Unless there is what `base` says.
    func expect(
        _ base: BaseVersion, of entry: WebDAVEntry?, named name: FileName, _ attempt: String
    ) throws(ProviderError) {
        switch base {
        case .absent:
            guard entry == nil else {
                throw ProviderError(.exists, attempt: attempt, reason: "something has this name")
            }
        case .version(let mark):
            guard let entry else {
                throw ProviderError(.missing, attempt: attempt, reason: "it is not there")
            }
            try expect(mark, of: entry, named: name, attempt)
        }
    }

    /// - Parameter mark: The version of a file; nil for every other kind.
    func expect(
        _ mark: ETag?, of entry: WebDAVEntry, named name: FileName, _ attempt: String
    ) throws(ProviderError) {
        let object = object(entry, named: name).object
        guard (object.kind == .file) == (mark != nil) else {
            throw ProviderError(
                .wrongKind, attempt: attempt, reason: "it is a \(object.kind) now")
        }
        guard object.isVersion(mark) else {
            throw ProviderError(
                .changed, attempt: attempt,
                reason: "it is version \(object.etag?.description ?? "none") now")
        }
    }

    /// What a refusal of a change means, where that depends on what is there.
    func explained(
        _ answer: WebDAVAnswer, _ key: ObjectKey, _ attempt: String
    ) async -> ProviderError {
        let failure = answer.failure(attempt)
        switch answer.status {
        case 400, 403, 404, 405, 409, 500: break
        default: return failure
        }
        guard let parent = key.parent, let isThere = try? await isCollection(parent, attempt) else {
            return failure
        }
        if !isThere {
            return ProviderError(
                .missing, attempt: attempt, reason: "the directory that should hold it is gone")
        }
        guard failure.kind == .missing, answer.status == 409 else { return failure }
        return ProviderError(.unreachable, attempt: attempt, reason: failure.reason)
    }

    // MARK: Tasks

    func wait(_ duration: Duration, _ attempt: String) async throws(ProviderError) {
        do {
            try await clock.sleep(until: clock.uptime + duration)
        } catch {
            throw ProviderError(.cancelled, attempt: attempt, reason: "cancelled")
        }
    }

    /// Runs a change to its end even where the calling task is cancelled meanwhile, so that nothing
    /// is left halfway and the caller hears what happened. Not begun in a task that is cancelled.
    func finishing<Value: Sendable>(
        _ attempt: String,
        _ change: @escaping @Sendable () async throws(ProviderError) -> Value
    ) async throws(ProviderError) -> Value {
        if Task.isCancelled {
            throw ProviderError(.cancelled, attempt: attempt, reason: "cancelled")
        }
        return try await cleaningUp(change)
    }

    /// Runs what has to be done, whether or not the calling task is cancelled.
    func cleaningUp<Value: Sendable>(
        _ work: @escaping @Sendable () async throws(ProviderError) -> Value
    ) async throws(ProviderError) -> Value {
        // Not a loose task: it is awaited, it only does not inherit the cancellation.
        let result = await Task { () -> Result<Value, ProviderError> in
            do throws(ProviderError) {
                return .success(try await work())
            } catch {
                return .failure(error)
            }
        }.value
        return try result.get()
    }
}

extension RemoteObject {
    /// Whether it is the version that was seen with `mark`; nil for every kind but files.
    func isVersion(_ mark: ETag?) -> Bool {
        guard let mark, let etag else { return etag == mark }
        return WebDAVVersion.isSame(mark, as: etag)
    }
}
