import Synchronization

/// Ends stalled provider calls so that they are retried: waiting longer on a dead connection is
/// useless (I8). At shutdown it waits no longer than the grace period.
struct DeadlineProvider: ProviderWrapper {
    let inner: any Provider
    let clock: any Clock
    let departure: ShutdownGrace

    /// Maximum time without a byte in a transfer, not counting its wait for a turn.
    static let stallMax: Duration = .seconds(30)
    /// Maximum duration of a metadata request.
    static let lookMax: Duration = .seconds(60)
    /// Maximum duration of a listing page, which in some stores is the whole listing, and of a
    /// change once the store has all its data.
    static let changeMax: Duration = .seconds(600)
    /// Maximum duration of a change for which a store copies an object, perhaps of terabytes.
    static let copyMax: Duration = .seconds(3_600)

    func around<Value: Sendable>(
        _ call: ProviderCall,
        _ request: @escaping @Sendable () async throws(ProviderError) -> Value
    ) async throws(ProviderError) -> Value {
        guard let limit = limit(call) else {
            return try await departure.outlasting(call.description, request)
        }
        return try await limited(call, limit, Progress(at: clock.uptime), request)
    }

    /// Returns the maximum duration of a call without progress; nil for a directory that is moved
    /// object by object, which has no limit.
    private func limit(_ call: ProviderCall) -> Duration? {
        switch call {
        case .stat, .space: Self.lookMax
        case .read, .write: Self.stallMax
        case .list, .abandon, .createDirectory, .createSymlink, .delete, .publicLink:
            Self.changeMax
        case .setAttributes: Self.copyMax
        case .move(_, let isFile): traits.movesDirectoriesAtOnce || isFile ? Self.copyMax : nil
        }
    }

    func read(
        _ key: ObjectKey, range: Range<UInt64>, etag: ETag, into sink: any ByteSink
    ) async throws(ProviderError) {
        let progress = Progress(at: clock.uptime)
        try await limited(.read(key), Self.stallMax, progress) {
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
        return try await limited(.write(key), Self.stallMax, progress) {
            () async throws(ProviderError) in
            let watched = WatchedSource(inner: source, clock: clock, progress: progress)
            let session = WatchedSession(
                inner: session, size: source.size, clock: clock, progress: progress)
            return try await inner.write(
                key, from: watched, attributes: attributes, base: base, session: session)
        }
    }

    // MARK: Waiting

    /// Runs a call, and cancels it after `limit` without progress.
    private func limited<Value: Sendable>(
        _ call: ProviderCall, _ limit: Duration, _ progress: Progress,
        _ request: @escaping @Sendable () async throws(ProviderError) -> Value
    ) async throws(ProviderError) -> Value {
        let (result, isCutShort) = await withWatchdog(
            { [clock] in
                var due = progress.due(limit)
                while due > clock.uptime {
                    do { try await clock.sleep(until: due) } catch { return }
                    due = progress.due(limit)
                }
            },
            { [departure] () async throws(ProviderError) in
                try await departure.outlasting(call.description, request)
            })
        guard isCutShort else { return try result.get() }
        throw ProviderError(
            .unreachable, attempt: call.description, reason: "no progress for \(limit)")
    }
}

/// The time of a transfer's last progress.
private final class Progress: Sendable {
    private let state: Mutex<(last: Duration, isComplete: Bool)>

    init(at now: Duration) {
        state = Mutex((now, false))
    }

    /// - Parameter isComplete: Whether all bytes have been handed over, so that the remaining time
    ///   depends on the store alone.
    func note(at now: Duration, isComplete: Bool = false) {
        state.withLock { $0 = (now, isComplete) }
    }

    func due(_ limit: Duration) -> Duration {
        let (last, isComplete) = state.withLock { $0 }
        return last + (isComplete ? DeadlineProvider.changeMax : limit)
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

/// Counts the bytes reported as sent: a provider may read its source long before the store has
/// them.
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
