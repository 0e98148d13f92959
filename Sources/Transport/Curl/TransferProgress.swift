/// Counts the bytes of a transfer, and decides whether it is fast enough to occupy a place.
struct TransferProgress {
    let startedAt: ContinuousClock.Instant
    private(set) var sentBytes: UInt64 = 0
    private(set) var receivedBytes: UInt64 = 0
    /// Bytes moved since the last ``takeUncountedBytes()``.
    private var uncountedBytes: UInt64 = 0
    private var bytesSinceStep = 0
    /// When ``HostLimit/bytesPerStep`` had last been moved.
    private var lastStep: ContinuousClock.Instant

    init(at now: ContinuousClock.Instant) {
        startedAt = now
        lastStep = now
    }

    /// - Parameters:
    ///   - sent: Bytes read from the body, perhaps for the second time.
    ///   - position: The offset in the body up to which it has been read.
    /// - Returns: Whether ``sentBytes`` or ``receivedBytes`` has grown.
    mutating func note(
        sent: Int = 0, upTo position: UInt64 = 0, received: Int = 0, at now: ContinuousClock.Instant
    ) -> Bool {
        bytesSinceStep += sent + received
        if bytesSinceStep >= HostLimit.bytesPerStep {
            bytesSinceStep = 0
            lastStep = now
        }
        uncountedBytes += UInt64(sent + received)
        receivedBytes += UInt64(received)
        let hasSentMore = position > sentBytes
        if hasSentMore { sentBytes = position }
        return hasSentMore || received > 0
    }

    /// Returns the number of bytes moved since the last call.
    mutating func takeUncountedBytes() -> UInt64 {
        defer { uncountedBytes = 0 }
        return uncountedBytes
    }

    /// Whether hardly anything has moved for a while.
    func isSlow(at now: ContinuousClock.Instant) -> Bool {
        now - lastStep >= HostLimit.slowAfter
    }
}
