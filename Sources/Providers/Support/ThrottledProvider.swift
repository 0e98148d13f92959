package import Engine

/// Delays each call of a provider, and limits the rate of each transfer.
///
/// Reads are split into pieces of the same version, so that a slow read holds no thread. Writes pass
/// on a ``PacedByteSource``. A provider that ignores the pace takes the bytes at once; the call then
/// ends when they would have been sent.
package struct ThrottledProvider: ProviderWrapper {
    package let inner: any Provider
    private let clock: any Clock
    private let latency: Duration
    private let bytesPerSecond: UInt64?

    /// - Parameters:
    ///   - latency: The delay before each call.
    ///   - bytesPerSecond: The rate of each single transfer, above 0; nil for no limit.
    package init(
        _ inner: any Provider, clock: any Clock, latency: Duration = .zero,
        bytesPerSecond: UInt64? = nil
    ) {
        precondition(bytesPerSecond != 0, "a transfer at no rate never ends")
        self.inner = inner
        self.clock = clock
        self.latency = latency
        self.bytesPerSecond = bytesPerSecond
    }

    package func around<Value: Sendable>(
        _ call: ProviderCall,
        _ request: @escaping @Sendable () async throws(ProviderError) -> Value
    ) async throws(ProviderError) -> Value {
        try await wait(until: clock.uptime + latency, call)
        return try await request()
    }

    package func read(
        _ key: ObjectKey, range: Range<UInt64>, etag: ETag, into sink: any ByteSink
    ) async throws(ProviderError) {
        try await around(.read(key)) { () async throws(ProviderError) in
            guard let pace = pace() else {
                return try await inner.read(key, range: range, etag: etag, into: sink)
            }
            var offset = range.lowerBound
            while offset < range.upperBound {
                let end = min(offset + pace.pieceBytes, range.upperBound)
                try await wait(until: pace.due(bytes: end - range.lowerBound), .read(key))
                try await inner.read(key, range: offset..<end, etag: etag, into: sink)
                offset = end
            }
        }
    }

    package func stat(
        _ key: ObjectKey, firstBytes count: Int
    ) async throws(ProviderError) -> ObjectStart {
        try await around(.stat(key)) { () async throws(ProviderError) in
            let pace = pace()
            let start = try await inner.stat(key, firstBytes: count)
            let bytes = UInt64(start.bytes.count)
            if let pace { try await wait(until: pace.due(bytes: bytes), .stat(key)) }
            return start
        }
    }

    package func write(
        _ key: ObjectKey, from source: any ByteSource, attributes: ObjectAttributes,
        base: BaseVersion, session: any UploadSession
    ) async throws(ProviderError) -> RemoteObject {
        try await around(.write(key)) { () async throws(ProviderError) in
            guard let pace = pace() else {
                return try await inner.write(
                    key, from: source, attributes: attributes, base: base, session: session)
            }
            let object = try await inner.write(
                key, from: ThrottledSource(inner: source, clock: clock, pace: pace),
                attributes: attributes, base: base, session: session)
            // The object is stored, so a cancellation comes too late.
            try? await clock.sleep(until: pace.due(bytes: source.size))
            return object
        }
    }

    /// Without a delay: a far store would be told with the listing.
    package func follow(_ directory: ObjectKey) async throws(ProviderError) -> Bool {
        try await inner.follow(directory)
    }

    /// Reports come later, and the first answer at once.
    package func changes(since anchor: ChangeAnchor?) async throws(ProviderError) -> ChangeReport {
        let report = try await inner.changes(since: anchor)
        if anchor != nil { try await wait(until: clock.uptime + latency, .changes) }
        return report
    }

    private func wait(
        until instant: Duration, _ call: ProviderCall
    ) async throws(ProviderError) {
        do {
            try await clock.sleep(until: instant)
        } catch {
            throw ProviderError(.cancelled, attempt: "\(call)", reason: "cancelled")
        }
    }

    private func pace() -> Pace? {
        bytesPerSecond.map { Pace(start: clock.uptime, bytesPerSecond: $0) }
    }
}

/// The schedule of one transfer.
private struct Pace: Sendable {
    let start: Duration
    let bytesPerSecond: UInt64

    /// The bytes of a twentieth of a second, within bounds suitable for a request.
    var pieceBytes: UInt64 { min(max(bytesPerSecond / 20, 4 << 10), 1 << 20) }

    /// The instant at which `bytes` have been transferred.
    func due(bytes: UInt64) -> Duration {
        start + .seconds(Double(bytes) / Double(bytesPerSecond))
    }
}

/// The bytes of another source, due at a rate.
private struct ThrottledSource: PacedByteSource {
    let inner: any ByteSource
    let clock: any Clock
    let pace: Pace

    var size: UInt64 { inner.size }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws -> Int {
        try inner.read(into: buffer, at: offset)
    }

    /// A source that has a pace of its own keeps it.
    private var paced: (any PacedByteSource)? { inner as? any PacedByteSource }

    var pieceBytes: UInt64 { min(pace.pieceBytes, paced?.pieceBytes ?? .max) }

    func waitUntilDue(_ offset: UInt64) async throws {
        try await paced?.waitUntilDue(offset)
        try await clock.sleep(until: pace.due(bytes: offset))
    }
}

/// A source whose bytes become due over time, as over a slow line.
///
/// A provider that knows this protocol waits before it reads a piece, and so is slowed down without
/// a blocked thread. For other providers it is an ordinary source.
package protocol PacedByteSource: ByteSource {
    /// The preferred number of bytes per read.
    var pieceBytes: UInt64 { get }

    /// Returns once the bytes before `offset` may be read.
    ///
    /// - Throws: `CancellationError`.
    func waitUntilDue(_ offset: UInt64) async throws
}
