package import Engine
import Synchronization
package import Transport

/// Keeps all transfers of a provider that does not use the transport together to its bandwidth.
///
/// Reads are split into pieces, and writes pass on a ``PacedByteSource``, so that a slow one holds no
/// thread. A provider that ignores the pace is not limited in its writes.
package struct LimitedProvider: ProviderWrapper {
    package let inner: any Provider
    private let budget: TransferBudget

    package init(_ inner: any Provider, to transport: HTTPTransport, clock: any Clock) {
        self.inner = inner
        budget = TransferBudget(transport.bandwidth, clock: clock)
        transport.onBandwidthChange { [budget] in budget.limit(to: $0) }
    }

    package func around<Value: Sendable>(
        _ call: ProviderCall,
        _ request: @escaping @Sendable () async throws(ProviderError) -> Value
    ) async throws(ProviderError) -> Value {
        try await request()
    }

    package func read(
        _ key: ObjectKey, range: Range<UInt64>, etag: ETag, into sink: any ByteSink
    ) async throws(ProviderError) {
        var offset = range.lowerBound
        repeat {
            let end = min(range.upperBound, offset + (budget.pieceBytes(.down) ?? .max / 2))
            do {
                try await budget.take(end - offset, .down)
            } catch {
                throw ProviderError(.cancelled, "it was cancelled")
            }
            try await inner.read(key, range: offset..<end, etag: etag, into: sink)
            offset = end
        } while offset < range.upperBound
    }

    package func write(
        _ key: ObjectKey, from source: any ByteSource, attributes: ObjectAttributes,
        base: BaseVersion, session: any UploadSession
    ) async throws(ProviderError) -> RemoteObject {
        try await inner.write(
            key, from: LimitedSource(inner: source, budget: budget), attributes: attributes,
            base: base, session: session)
    }
}

/// The bytes that several transfers may move.
package final class TransferBudget: Sendable {
    package enum Direction: Sendable {
        case up, down
    }

    private let buckets: Mutex<[Direction: TokenBucket]>
    /// Notified when the limits have changed.
    private let changes = Signal()
    private let clock: any Clock

    package init(_ bandwidth: Bandwidth, clock: any Clock) {
        self.clock = clock
        buckets = Mutex(Self.buckets(bandwidth, at: clock.uptime))
    }

    package func limit(to bandwidth: Bandwidth) {
        buckets.withLock { $0 = Self.buckets(bandwidth, at: clock.uptime) }
        changes.notify()
    }

    private static func buckets(
        _ bandwidth: Bandwidth, at now: Duration
    ) -> [Direction: TokenBucket] {
        var buckets: [Direction: TokenBucket] = [:]
        buckets[.up] = bandwidth.up.map { TokenBucket(bytesPerSecond: $0, at: now) }
        buckets[.down] = bandwidth.down.map { TokenBucket(bytesPerSecond: $0, at: now) }
        return buckets
    }

    /// The bytes of a twentieth of a second, within bounds suitable for a request; nil without a limit.
    func pieceBytes(_ direction: Direction) -> UInt64? {
        buckets.withLock { $0[direction]?.bytesPerSecond }
            .map { min(max($0 / 20, 4 << 10), 1 << 20) }
    }

    /// Returns once `bytes` may be moved.
    ///
    /// - Throws: `CancellationError`.
    package func take(_ bytes: UInt64, _ direction: Direction) async throws {
        while true {
            try Task.checkCancellation()
            let (change, now) = (changes.notifications, clock.uptime)
            let opening = buckets.withLock { buckets -> Duration? in
                guard var bucket = buckets[direction] else { return nil }
                let opening = bucket.opening(at: now)
                if opening <= now { bucket.take(Int(clamping: bytes), at: now) }
                buckets[direction] = bucket
                return opening <= now ? nil : opening
            }
            guard let opening else { return }
            await changes.wait(after: change, until: opening, on: clock)
        }
    }
}

/// The bytes of another source, due as the budget allows.
private final class LimitedSource: PacedByteSource {
    private let inner: any ByteSource
    private let budget: TransferBudget
    private let taken = Mutex<UInt64>(0)

    init(inner: any ByteSource, budget: TransferBudget) {
        self.inner = inner
        self.budget = budget
    }

    var size: UInt64 { inner.size }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws -> Int {
        try inner.read(into: buffer, at: offset)
    }

    var pieceBytes: UInt64 { budget.pieceBytes(.up) ?? .max }

    func waitUntilDue(_ offset: UInt64) async throws {
        let before = taken.withLock { taken in
            defer { taken = max(taken, offset) }
            return taken
        }
        if offset > before { try await budget.take(offset - before, .up) }
    }
}
