package import Engine

/// Simulates a distant provider: each call has a latency, each transfer a rate.
///
/// Reads are split into pieces of the same version, so a slow read does not block a thread. Writes
/// pass on a ``PacedByteSource``; a provider that does not wait for it reads the bytes at once, and
/// the call then ends when they would have been sent.
package struct FarAwayProvider: Provider {
    private let inner: any Provider
    private let clock: any Clock
    private let latency: Duration
    /// nil if only the latency is simulated.
    private let bytesPerSecond: UInt64?

    /// - Parameters:
    ///   - latency: The delay before each call.
    ///   - bytesPerSecond: The rate of each single transfer, above 0; nil for no limit.
    package init(
        _ inner: any Provider, clock: any Clock, latency: Duration = .zero,
        bytesPerSecond: UInt64? = nil
    ) {
        precondition(bytesPerSecond != 0, "the rate must not be 0")
        self.inner = inner
        self.clock = clock
        self.latency = latency
        self.bytesPerSecond = bytesPerSecond
    }

    package var traits: ProviderTraits { inner.traits }

    package func list(
        _ directory: ObjectKey, page: PageToken?
    ) async throws(ProviderError) -> ListingPage {
        try await travel("list \"\(directory)\"")
        return try await inner.list(directory, page: page)
    }

    package func stat(_ key: ObjectKey) async throws(ProviderError) -> RemoteObject {
        try await travel("stat \"\(key)\"")
        return try await inner.stat(key)
    }

    package func read(
        _ key: ObjectKey, range: Range<UInt64>, etag: ETag, into sink: any ByteSink
    ) async throws(ProviderError) {
        let attempt = "read \"\(key)\""
        try await travel(attempt)
        guard let pace = pace() else {
            return try await inner.read(key, range: range, etag: etag, into: sink)
        }
        var offset = range.lowerBound
        while offset < range.upperBound {
            let end = min(offset + pace.pieceBytes, range.upperBound)
            try await wait(until: pace.due(bytes: end - range.lowerBound), attempt)
            try await inner.read(key, range: offset..<end, etag: etag, into: sink)
            offset = end
        }
    }

    package func write(
        _ key: ObjectKey, from source: any ByteSource, attributes: ObjectAttributes,
        base: BaseVersion, session: any UploadSession
    ) async throws(ProviderError) -> RemoteObject {
        let attempt = "write \"\(key)\""
        try await travel(attempt)
        guard let pace = pace() else {
            return try await inner.write(
                key, from: source, attributes: attributes, base: base, session: session)
        }
        let paced = FarAwaySource(inner: source, clock: clock, pace: pace)
        let object = try await inner.write(
            key, from: paced, attributes: attributes, base: base, session: session)
        // It is stored already; a late cancellation must not hide that.
        try? await clock.sleep(until: pace.due(bytes: source.size))
        return object
    }

    package func abandon(_ token: UploadToken, of key: ObjectKey) async throws(ProviderError) {
        try await travel("abandon an upload of \"\(key)\"")
        try await inner.abandon(token, of: key)
    }

    package func createDirectory(
        _ key: ObjectKey, attributes: ObjectAttributes
    ) async throws(ProviderError) -> RemoteObject {
        try await travel("create the directory \"\(key)\"")
        return try await inner.createDirectory(key, attributes: attributes)
    }

    package func createSymlink(
        _ key: ObjectKey, target: [UInt8], attributes: ObjectAttributes
    ) async throws(ProviderError) -> RemoteObject {
        try await travel("create the symbolic link \"\(key)\"")
        return try await inner.createSymlink(key, target: target, attributes: attributes)
    }

    package func setAttributes(
        _ key: ObjectKey, to attributes: ObjectAttributes, etag: ETag?
    ) async throws(ProviderError) -> RemoteObject {
        try await travel("set the attributes of \"\(key)\"")
        return try await inner.setAttributes(key, to: attributes, etag: etag)
    }

    package func move(
        _ key: ObjectKey, etag: ETag?, to destination: ObjectKey, base: BaseVersion,
        continues: Bool
    ) async throws(ProviderError) -> RemoteObject {
        try await travel("move \"\(key)\" to \"\(destination)\"")
        return try await inner.move(
            key, etag: etag, to: destination, base: base, continues: continues)
    }

    package func delete(
        _ key: ObjectKey, kind: FileKind, etag: ETag?
    ) async throws(ProviderError) {
        try await travel("delete \"\(key)\"")
        try await inner.delete(key, kind: kind, etag: etag)
    }

    package func isSame(_ former: ETag, as etag: ETag) -> Bool { inner.isSame(former, as: etag) }

    package func space() async throws(ProviderError) -> StorageSpace? {
        try await travel("read the free space")
        return try await inner.space()
    }

    package func publicLink(to key: ObjectKey) async throws(ProviderError) -> String {
        try await travel("make a link to \"\(key)\"")
        return try await inner.publicLink(to: key)
    }

    // MARK: Waiting

    /// Waits for the latency of a request.
    private func travel(_ attempt: String) async throws(ProviderError) {
        try await wait(until: clock.uptime + latency, attempt)
    }

    private func wait(until instant: Duration, _ attempt: String) async throws(ProviderError) {
        do {
            try await clock.sleep(until: instant)
        } catch {
            throw ProviderError(.cancelled, attempt: attempt, reason: "cancelled")
        }
    }

    private func pace() -> FarAwayPace? {
        bytesPerSecond.map { FarAwayPace(start: clock.uptime, bytesPerSecond: $0) }
    }
}

/// The times at which the bytes of one transfer have arrived.
struct FarAwayPace: Sendable {
    let start: Duration
    let bytesPerSecond: UInt64

    /// The bytes of a twentieth of a second, within reasonable bounds for a request.
    var pieceBytes: UInt64 { min(max(bytesPerSecond / 20, 4 << 10), 1 << 20) }

    /// Returns the time at which `bytes` since the start have arrived.
    func due(bytes: UInt64) -> Duration {
        start + .seconds(Double(bytes) / Double(bytesPerSecond))
    }
}

/// The bytes of another source, due at a fixed rate.
private struct FarAwaySource: PacedByteSource {
    let inner: any ByteSource
    let clock: any Clock
    let pace: FarAwayPace

    var size: UInt64 { inner.size }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws -> Int {
        try inner.read(into: buffer, at: offset)
    }

    var pieceBytes: UInt64 { pace.pieceBytes }

    func waitUntilDue(_ offset: UInt64) async throws {
        try await clock.sleep(until: pace.due(bytes: offset))
    }
}
