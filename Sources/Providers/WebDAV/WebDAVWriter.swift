import Engine
import ProviderSupport

/// One way to store a file so that its base version is guarded and other clients see the old version
/// or the new one.
protocol WebDAVStrategy: Sendable {
    func store(_ upload: WebDAVUpload) async throws(ProviderError) -> RemoteObject
}

/// One PUT that the server guards by `If-Match` or `If-None-Match`, and that takes effect in one step.
struct ConditionalUpload: WebDAVStrategy {
    let sender: WebDAVSender

    func store(_ upload: WebDAVUpload) async throws(ProviderError) -> RemoteObject {
        var headers: WebDAVLookup.Headers = []
        switch upload.base {
        case .absent: headers.append(("If-None-Match", "*"))
        case .version(let tag):
            if let etag = WebDAVVersion.etag(in: tag) {
                headers.append(("If-Match", etag))
            } else {
                try await sender.expectBase(of: upload)
            }
        }
        if sender.lookup.server.takesModified {
            headers.append(("X-OC-Mtime", "\(upload.attributes.modified.seconds)"))
        }
        try await upload.session.requireProof()
        let answer = try await sender.put(upload, at: upload.key, headers)
        guard answer.isSuccess else { throw await sender.refusal(answer, of: upload) }
        return try await cleaningUp { () async throws(ProviderError) in
            let entry = try await sender.stored(upload, at: upload.key, answer)
            return try await sender.describe(entry, upload, at: upload.key)
        }
    }
}

/// One PUT that takes effect in one step. The server checks its condition, a tag in `If`, only when it
/// begins, which is good enough for a short one.
struct DirectUpload: WebDAVStrategy {
    let sender: WebDAVSender
    /// Excludes our own uploads of the same file between the check and the effect.
    private let keys = KeyedMutex()

    /// Larger files are staged.
    static let bytesMax: UInt64 = 1 << 20

    func store(_ upload: WebDAVUpload) async throws(ProviderError) -> RemoteObject {
        try await keys.with([upload.key]) { () async throws(ProviderError) in
            let conditions = try await conditions(of: upload)
            try await upload.session.requireProof()
            let stored = try await sender.putDistinct(upload, at: upload.key, conditions) {
                conditions async throws(ProviderError) in
                try await sender.put(upload, at: upload.key, conditions)
            }
            return try await cleaningUp { () async throws(ProviderError) in
                try await sender.describe(stored, upload, at: upload.key)
            }
        }
    }

    /// - Throws: The difference, if the key holds another version than the base.
    private func conditions(
        of upload: WebDAVUpload
    ) async throws(ProviderError) -> WebDAVLookup.Headers {
        // The server looks itself, at the same moment as after a look of ours.
        if upload.base == .absent { return [("If-None-Match", "*")] }
        let entry = try await sender.lookup.entry(at: upload.key)
        try sender.lookup.objects.expect(upload.base, of: entry, named: upload.name)
        return sender.lookup.matching([(upload.key, entry?.etag)])
    }
}

/// Stores files and symbolic links, each with the strategy that suits the server and the size.
struct WebDAVWriter: Sendable {
    private let sender: WebDAVSender
    private let staging: WebDAVStaging
    private let direct: DirectUpload
    private let storedRanges = StoredRanges()
    /// Larger files are sent in chunks of this size, or in ranges, if the server accepts either.
    private let chunkBytes: UInt64

    private var server: WebDAVServer { sender.lookup.server }

    init(sender: WebDAVSender, locks: WebDAVLocks, chunkBytes: UInt64) {
        self.sender = sender
        self.chunkBytes = chunkBytes
        staging = WebDAVStaging(sender: sender, locks: locks)
        direct = DirectUpload(sender: sender)
    }

    func write(
        _ key: ObjectKey, from source: any ByteSource, attributes: ObjectAttributes,
        base: BaseVersion, session: any UploadSession
    ) async throws(ProviderError) -> RemoteObject {
        let upload = WebDAVUpload(
            key: key, name: try server.storableName(of: key), source: source,
            attributes: attributes, base: base, session: session)
        try throwIfCancelled()
        return try await strategy(for: source.size).store(upload)
    }

    /// Creates a small file with a property that holds the target. Other clients see the file.
    func createSymlink(
        _ key: ObjectKey, target: [UInt8], attributes: ObjectAttributes
    ) async throws(ProviderError) -> RemoteObject {
        let name = try server.storableName(of: key)
        guard server.keepsProperties, (1...4095).contains(target.count), !target.contains(0),
            name.bytes.count <= server.propertyNameBytesMax
        else { throw ProviderError(.unsupported, "the server cannot store such a link") }
        let upload = WebDAVUpload(
            key: key, name: name, source: WebDAVBytes(bytes: target), attributes: attributes,
            target: target, base: .absent, session: UntrackedUpload())
        try throwIfCancelled()
        // Staged, because until its property is set it is an ordinary file.
        return try await StagedUpload(staging: staging).store(upload)
    }

    /// Removes the chunks, or the staged file, that a token names.
    func abandon(_ token: UploadToken, of key: ObjectKey) async throws(ProviderError) {
        if let token = WebDAVChunkToken(token) {
            try await chunked?.abandon(token, of: key)
        } else {
            if let staged = staging.file(token, of: key) { storedRanges.forget(staged) }
            try await staging.abandon(token, of: key)
        }
    }

    private func strategy(for size: UInt64) -> any WebDAVStrategy {
        switch server.replacing {
        case .conditionally:
            if size > chunkBytes, let chunked { return chunked }
            return ConditionalUpload(sender: sender)
        case .directly where size <= DirectUpload.bytesMax: return direct
        case .directly, .staged:
            guard server.takesRanges, size > chunkBytes else {
                return StagedUpload(staging: staging)
            }
            return RangedUpload(
                staging: staging, storedRanges: storedRanges, rangeBytes: chunkBytes)
        }
    }

    private var chunked: ChunkedUpload? {
        server.uploads.map { ChunkedUpload(sender: sender, uploads: $0, chunkBytes: chunkBytes) }
    }
}
