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

/// A range that is being fetched for requests, or ahead of them.
final class Flight: Sendable {
    /// For so long a fetch goes on after the cancellation of all requests that waited for it: a
    /// program that handles many signals repeats an interrupted request, which then joins the fetch.
    static let graceTime: Duration = .seconds(1)

    let range: Range<UInt64>
    let begin: Duration
    /// Notified when the last request that waited for some of its bytes was cancelled.
    private let abandonment = Signal()

    init(_ range: Range<UInt64>, at begin: Duration) {
        self.range = range
        self.begin = begin
    }

    /// Performs `work`, which is cancelled once all requests that waited were.
    func whileWanted(_ work: @escaping @Sendable () async -> Void) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask(operation: work)
            group.addTask { await self.abandonment.wait(after: 0) }
            await group.next()
            group.cancelAll()
        }
    }

    func abandon() { abandonment.notify() }
}

extension OpenFile.State {
    /// Claims a range for a fetch that requests may wait for.
    mutating func beginFlight(of range: Range<UInt64>, at now: Duration) -> Flight {
        let flight = Flight(range, at: now)
        inFlight.insert(range)
        flights.append(flight)
        return flight
    }

    /// Removes the wait of a cancelled request.
    ///
    /// - Parameter range: All that the request needs.
    /// - Returns: The flights to abandon, outside the lock: no other request waits for them, and they
    ///   have lasted for ``Flight/graceTime``. A remote that does not answer must not keep later
    ///   requests from trying again.
    mutating func withdraw(
        _ wait: ByteWait, of range: Range<UInt64>, at now: Duration
    ) -> [Flight] {
        waits.removeAll { $0 === wait }
        reads.endExpecting(range)
        return flights.filter { flight in
            flight.range.overlaps(wait.range) && now - flight.begin >= Flight.graceTime
                && !waits.contains { $0.range.overlaps(flight.range) }
        }
    }

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
    mutating func endFlight(
        _ flight: Flight?, of rest: Range<UInt64>, in piece: Range<UInt64>
    ) -> [ByteWait] {
        inFlight.remove(rest)
        flights.removeAll { $0 === flight }
        let ended = waits.filter { $0.range.overlaps(piece) }
        waits.removeAll { $0.range.overlaps(piece) }
        return ended
    }
}
