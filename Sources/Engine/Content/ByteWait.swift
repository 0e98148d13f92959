/// One request that waits for bytes which others are fetching.
final class ByteWait: Sendable {
    let range: Range<UInt64>
    /// Notified when the bytes are local, or a fetch of some of them has ended without that.
    private let signal = Signal()

    init(_ range: Range<UInt64>) {
        self.range = range
    }

    /// Returns once the wait has ended, or the task is cancelled.
    func wait() async { await signal.wait(after: 0) }

    func end() { signal.notify() }
}

extension OpenFile.State {
    /// Counts arrived bytes as local: they are of the version that both sides agreed on (I5).
    ///
    /// - Parameter isLast: Whether the fetch is about to end, and with it the waits.
    /// - Returns: The waits to end, outside the lock.
    mutating func noteArrival(of range: Range<UInt64>, isLast: Bool) -> [ByteWait] {
        present.insert(range)
        inFlight.remove(range)
        guard !isLast, !waits.isEmpty else { return [] }
        let ended = waits.filter { $0.range.overlaps(range) && present.contains($0.range) }
        if !ended.isEmpty { waits.removeAll { wait in ended.contains { $0 === wait } } }
        return ended
    }

    /// Records the end of a fetch.
    ///
    /// - Parameters:
    ///   - rest: The part that has not arrived.
    ///   - piece: All of it. Bytes that did arrive may have been dropped since.
    /// - Returns: The waits to end, outside the lock.
    mutating func endFlight(of rest: Range<UInt64>, in piece: Range<UInt64>) -> [ByteWait] {
        inFlight.remove(rest)
        let ended = waits.filter { $0.range.overlaps(piece) }
        waits.removeAll { $0.range.overlaps(piece) }
        return ended
    }
}
