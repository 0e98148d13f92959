import Synchronization

/// The metadata fetches of single objects: several in parallel, one at a time for each inode,
/// awaited ones first.
final class MetadataQueue: Sendable {
    /// One fetch, from the first request to its end.
    final class Flight: Sendable {
        /// Notified once, at the end.
        let completion = Signal()
    }

    /// Maximum number of queued fetches that no request awaits. Awaited ones are bounded by the
    /// kernel's requests.
    private static let expectedMax = 1_024
    /// Maximum number of remembered inodes with a failed fetch.
    private static let vainMax = 1_024

    private struct State {
        var flights: [InodeNumber: Flight] = [:]
        var awaited: [InodeNumber] = []
        var expected: [InodeNumber] = []
        /// The time until which an inode is not awaited.
        var vain: [InodeNumber: Duration] = [:]
        /// The time until which no inode is awaited.
        var allVain: Duration?
        var successes: UInt64 = 0
        var isClosed = false
    }

    private let state = Mutex(State())
    /// Notified when a fetch is requested.
    let signal = Signal()
    /// How programs go through directories, for readahead.
    let walks = Mutex(ReadaheadDetector())

    /// Requests a fetch, or joins the one in progress.
    ///
    /// - Parameter isAwaited: Whether a request waits for it; if not, it is readahead.
    @discardableResult
    func request(_ inode: InodeNumber, isAwaited: Bool) -> Flight {
        let (flight, isNew) = state.withLock { state in
            let flight = state.flights[inode] ?? Flight()
            let isKnown = state.flights[inode] != nil
            if state.isClosed
                || (!isAwaited && !isKnown && state.expected.count >= Self.expectedMax)
            {
                flight.completion.notify()
                return (flight, false)
            }
            state.flights[inode] = flight
            guard isAwaited else {
                if !isKnown { state.expected.append(inode) }
                return (flight, !isKnown)
            }
            let place = state.expected.firstIndex(of: inode)
            if let place { state.expected.remove(at: place) }
            if place != nil || !isKnown { state.awaited.append(inode) }
            return (flight, !isKnown)
        }
        if isNew { signal.notify() }
        return flight
    }

    // MARK: Backoff

    /// Returns whether an inode is not to be awaited, because a recent wait failed.
    func isInBackoff(_ inode: InodeNumber, at now: Duration) -> Bool {
        state.withLock { state in
            if let all = state.allVain, now < all { return true }
            guard let one = state.vain[inode] else { return false }
            if now < one { return true }
            state.vain[inode] = nil
            return false
        }
    }

    /// - Parameter inode: The inode not to be awaited; nil for all inodes.
    func setBackoff(_ inode: InodeNumber?, until end: Duration) {
        state.withLock { state in
            guard let inode else {
                state.allVain = end
                return
            }
            if state.vain.count >= Self.vainMax { state.vain = [:] }
            state.vain[inode] = end
        }
    }

    /// Records that the remote answers again.
    func noteSuccess() {
        state.withLock { state in
            state.allVain = nil
            state.successes += 1
        }
    }

    /// Number of successful fetches.
    var successes: UInt64 { state.withLock(\.successes) }

    // MARK: Running

    /// Runs requested fetches until the calling task is cancelled.
    ///
    /// - Parameter isResting: Whether to start nothing until ``signal``.
    func run(
        sideBySide: Int, isResting: @Sendable () -> Bool,
        look: @escaping @Sendable (InodeNumber) async -> Void
    ) async {
        await withTaskGroup(of: Void.self) { group in
            var running = 0
            while !Task.isCancelled {
                if running == sideBySide {
                    await group.next()
                    running -= 1
                }
                let notifications = signal.notifications
                guard !isResting(), let inode = next() else {
                    await signal.wait(after: notifications)
                    continue
                }
                running += 1
                group.addTask {
                    await look(inode)
                    self.end(inode)
                }
            }
            group.cancelAll()
        }
        let left = state.withLock { state in
            state.isClosed = true
            return state.awaited + state.expected
        }
        for inode in left { end(inode) }
    }

    private func next() -> InodeNumber? {
        state.withLock { state in
            if !state.awaited.isEmpty { return state.awaited.removeFirst() }
            return state.expected.isEmpty ? nil : state.expected.removeFirst()
        }
    }

    private func end(_ inode: InodeNumber) {
        state.withLock { $0.flights.removeValue(forKey: inode) }?.completion.notify()
    }
}
