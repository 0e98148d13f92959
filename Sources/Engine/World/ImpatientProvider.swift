import Synchronization

/// Ends calls of a provider that stand still, so that they are made anew: a connection that nobody
/// answers on is worth nothing, however long one waits (I8). At the end of the engine it waits for none
/// beyond the grace.
struct ImpatientProvider: Provider {
    let inner: any Provider
    let clock: any Clock
    let departure: Departure

    var traits: ProviderTraits { inner.traits }

    /// How long a transfer may go without a byte once its turn has come.
    static let stallMax: Duration = .seconds(30)
    /// How long a look at the store may take.
    static let lookMax: Duration = .seconds(60)
    /// How long a page of a listing may take, of which some stores give but one, and how long a
    /// change may take once the store has all it needs.
    static let changeMax: Duration = .seconds(600)
    /// How long one may take for which a store copies an object, perhaps of terabytes.
    static let copyMax: Duration = .seconds(3_600)

    func list(
        _ directory: ObjectKey, page: PageToken?
    ) async throws(ProviderError) -> ListingPage {
        try await limited("list \"\(directory)\"", Self.changeMax) {
            () async throws(ProviderError) in try await inner.list(directory, page: page)
        }
    }

    func stat(_ key: ObjectKey) async throws(ProviderError) -> RemoteObject {
        try await limited("look at \"\(key)\"", Self.lookMax) {
            () async throws(ProviderError) in try await inner.stat(key)
        }
    }

    func read(
        _ key: ObjectKey, range: Range<UInt64>, etag: ETag, into sink: any ByteSink
    ) async throws(ProviderError) {
        let progress = Progress(at: clock.uptime)
        try await limited("read \"\(key)\"", Self.stallMax, progress) {
            () async throws(ProviderError) in
            let sink = WatchedSink(inner: sink, clock: clock, progress: progress)
            try await inner.read(key, range: range, etag: etag, into: sink)
        }
    }

    func write(
        _ key: ObjectKey, from source: any ByteSource, attributes: ObjectAttributes,
        base: BaseVersion, session: any UploadSession
    ) async throws(ProviderError) -> RemoteObject {
        let progress = Progress(at: clock.uptime)
        return try await limited("write \"\(key)\"", Self.stallMax, progress) {
            () async throws(ProviderError) in
            let watched = WatchedSource(inner: source, clock: clock, progress: progress)
            let session = WatchedSession(
                inner: session, size: source.size, clock: clock, progress: progress)
            return try await inner.write(
                key, from: watched, attributes: attributes, base: base, session: session)
        }
    }

    func abandon(_ token: UploadToken, of key: ObjectKey) async throws(ProviderError) {
        try await limited("abandon an upload of \"\(key)\"", Self.changeMax) {
            () async throws(ProviderError) in try await inner.abandon(token, of: key)
        }
    }

    func createDirectory(
        _ key: ObjectKey, attributes: ObjectAttributes
    ) async throws(ProviderError) -> RemoteObject {
        try await limited("create the directory \"\(key)\"", Self.changeMax) {
            () async throws(ProviderError) in
            try await inner.createDirectory(key, attributes: attributes)
        }
    }

    func createSymlink(
        _ key: ObjectKey, target: [UInt8], attributes: ObjectAttributes
    ) async throws(ProviderError) -> RemoteObject {
        try await limited("create the symbolic link \"\(key)\"", Self.changeMax) {
            () async throws(ProviderError) in
            try await inner.createSymlink(key, target: target, attributes: attributes)
        }
    }

    func setAttributes(
        _ key: ObjectKey, to attributes: ObjectAttributes, etag: ETag?
    ) async throws(ProviderError) -> RemoteObject {
        try await limited("set the attributes of \"\(key)\"", Self.copyMax) {
            () async throws(ProviderError) in
            try await inner.setAttributes(key, to: attributes, etag: etag)
        }
    }

    func move(
        _ key: ObjectKey, etag: ETag?, to destination: ObjectKey, base: BaseVersion,
        continues: Bool
    ) async throws(ProviderError) -> RemoteObject {
        let move = { @Sendable () async throws(ProviderError) in
            try await inner.move(
                key, etag: etag, to: destination, base: base, continues: continues)
        }
        // A directory that moves object by object takes as long as it takes.
        guard traits.movesDirectoriesAtOnce || etag != nil else {
            return try await departure.outlasting("move \"\(key)\"", move)
        }
        return try await limited("move \"\(key)\"", Self.copyMax, nil, move)
    }

    func delete(_ key: ObjectKey, kind: FileKind, etag: ETag?) async throws(ProviderError) {
        try await limited("delete \"\(key)\"", Self.changeMax) {
            () async throws(ProviderError) in
            try await inner.delete(key, kind: kind, etag: etag)
        }
    }

    func isSame(_ former: ETag, as etag: ETag) -> Bool { inner.isSame(former, as: etag) }

    func space() async throws(ProviderError) -> StorageSpace? {
        try await limited("ask for the space", Self.lookMax) {
            () async throws(ProviderError) in try await inner.space()
        }
    }

    func publicLink(to key: ObjectKey) async throws(ProviderError) -> String {
        try await limited("make a link to \"\(key)\"", Self.changeMax) {
            () async throws(ProviderError) in try await inner.publicLink(to: key)
        }
    }

    // MARK: Waiting

    /// Runs a call, and cancels it once it has stood still for `limit`.
    private func limited<Value: Sendable>(
        _ attempt: @escaping @autoclosure @Sendable () -> String, _ limit: Duration,
        _ progress: Progress? = nil,
        _ call: @escaping @Sendable () async throws(ProviderError) -> Value
    ) async throws(ProviderError) -> Value {
        let progress = progress ?? Progress(at: clock.uptime)
        let (result, isCutShort) = await withWatchdog(
            { [clock] in
                var due = progress.due(limit)
                while due > clock.uptime {
                    do { try await clock.sleep(until: due) } catch { return }
                    due = progress.due(limit)
                }
            },
            { [departure] () async throws(ProviderError) in
                try await departure.outlasting(attempt(), call)
            })
        guard isCutShort else { return try result.get() }
        throw ProviderError(
            .unreachable, attempt: attempt(), reason: "nothing came or went for \(limit)")
    }
}

/// When a transfer last came further.
private final class Progress: Sendable {
    private let state: Mutex<(last: Duration, isComplete: Bool)>

    init(at now: Duration) {
        state = Mutex((now, false))
    }

    /// - Parameter isComplete: Whether all bytes have been handed over, and the store alone decides
    ///   how long the rest takes.
    func note(at now: Duration, isComplete: Bool = false) {
        state.withLock { $0 = (now, isComplete) }
    }

    func due(_ limit: Duration) -> Duration {
        let (last, isComplete) = state.withLock { $0 }
        return last + (isComplete ? ImpatientProvider.changeMax : limit)
    }
}

private struct WatchedSink: ByteSink {
    let inner: any ByteSink
    let clock: any Clock
    let progress: Progress

    func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws {
        try inner.write(bytes, at: offset)
        progress.note(at: clock.uptime)
    }

    func noteWaiting() {
        inner.noteWaiting()
        progress.note(at: clock.uptime)
    }
}

private struct WatchedSource: ByteSource {
    let inner: any ByteSource
    let clock: any Clock
    let progress: Progress

    var size: UInt64 { inner.size }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws -> Int {
        let count = try inner.read(into: buffer, at: offset)
        progress.note(at: clock.uptime, isComplete: offset + UInt64(count) >= inner.size)
        return count
    }
}

/// A provider may read its source long before the store has the bytes; what it says of them counts.
private struct WatchedSession: UploadSession {
    let inner: any UploadSession
    let size: UInt64
    let clock: any Clock
    let progress: Progress

    var token: UploadToken? { inner.token }

    func keep(_ token: UploadToken?) throws {
        try inner.keep(token)
    }

    func noteSent(_ bytes: UInt64) {
        inner.noteSent(bytes)
        progress.note(at: clock.uptime, isComplete: bytes >= size)
    }
}
