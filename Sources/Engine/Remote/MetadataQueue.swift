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
    static let expectedMax = 1_024
    /// Maximum number of remembered inodes with a failed fetch.
    private static let vainMax = 1_024

    fileprivate struct State {
        var flights: [InodeNumber: Flight] = [:]
        var running = 0
        var window = LookWindow()
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

    /// Requests fetches that no request awaits yet, after all others, as far as there is room.
    ///
    /// - Returns: Whether there was room for all.
    func requestAhead(_ inodes: [InodeNumber]) -> Bool {
        let (hasNew, hadRoom) = state.withLock { state in
            let new = inodes.filter { state.flights[$0] == nil }
            if state.isClosed { return (false, new.isEmpty) }
            let taken = new.prefix(max(0, Self.expectedMax - state.expected.count))
            for inode in taken { state.flights[inode] = Flight() }
            state.expected += taken
            return (!taken.isEmpty, taken.count == new.count)
        }
        if hasNew { signal.notify() }
        return hadRoom
    }

    /// Requests fetches that are likely to be awaited before all others that are not awaited yet. They
    /// take the places of the last of these, if there are too many.
    func requestNext(_ inodes: [InodeNumber]) {
        let dropped = state.withLock { state -> [InodeNumber] in
            if state.isClosed { return [] }
            let waiting = Set(state.expected)
            // One that is running, or awaited, needs no other place.
            let next = inodes.filter { state.flights[$0] == nil || waiting.contains($0) }
            for inode in next where state.flights[inode] == nil { state.flights[inode] = Flight() }
            let moved = Set(next)
            let expected = next + state.expected.filter { !moved.contains($0) }
            state.expected = Array(expected.prefix(Self.expectedMax))
            return Array(expected.dropFirst(Self.expectedMax))
        }
        for inode in dropped { complete(inode) }
        signal.notify()
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

    /// The number of further fetches that no request awaits that would be queued.
    var room: Int { state.withLock { max(0, Self.expectedMax - $0.expected.count) } }

    /// Runs requested fetches until the calling task is cancelled.
    ///
    /// - Parameters:
    ///   - sideBySide: Maximum number of fetches in progress; of those that no request awaits,
    ///     ``LookWindow`` decides how many.
    ///   - isResting: Whether to start nothing until ``signal``.
    ///   - prepare: Reads the facts that the fetches of some inodes need, in the same order.
    func run<Facts: Sendable>(
        sideBySide: Int, on clock: any Clock, isResting: @Sendable () -> Bool,
        prepare: @Sendable ([InodeNumber]) -> [Facts],
        look: @escaping @Sendable (InodeNumber, Facts) async -> Void
    ) async {
        await withDiscardingTaskGroup { group in
            while !Task.isCancelled {
                let notifications = signal.notifications
                let inodes = isResting() ? [] : begin(sideBySide: sideBySide)
                guard !inodes.isEmpty else {
                    await signal.wait(after: notifications)
                    continue
                }
                for (inode, facts) in zip(inodes, prepare(inodes)) {
                    group.addTask {
                        let start = clock.uptime
                        await look(inode, facts)
                        self.end(
                            inode, sideBySide: sideBySide, begunAt: start, at: clock.uptime)
                    }
                }
            }
            group.cancelAll()
        }
        let left = state.withLock { state in
            state.isClosed = true
            return state.awaited + state.expected
        }
        for inode in left { complete(inode) }
    }

    /// Number of fetches that begin together.
    private static let begunMax = 64

    /// Takes the next fetches, as far as there are places. Those that no request awaits wait for
    /// several places, so that the database is read once for all of them.
    private func begin(sideBySide: Int) -> [InodeNumber] {
        state.withLock { state in
            let free = min(sideBySide - state.running, Self.begunMax)
            var begun = Array(state.awaited.prefix(free))
            state.awaited.removeFirst(begun.count)
            let places = state.placesAhead(sideBySide)
            if places.free >= places.enough || !begun.isEmpty {
                let others = max(0, min(free, places.free) - begun.count)
                let ahead = state.expected.prefix(others)
                begun += ahead
                state.expected.removeFirst(ahead.count)
            }
            state.running += begun.count
            return begun
        }
    }

    private func end(
        _ inode: InodeNumber, sideBySide: Int, begunAt start: Duration, at now: Duration
    ) {
        let hasWork = state.withLock { state in
            state.running -= 1
            state.window.note(
                begunAt: start, at: now, isLast: state.running == 0, max: sideBySide)
            let places = state.placesAhead(sideBySide)
            return !state.awaited.isEmpty
                || !state.expected.isEmpty && places.free >= places.enough
        }
        complete(inode)
        if hasWork { signal.notify() }
    }

    private func complete(_ inode: InodeNumber) {
        state.withLock { $0.flights.removeValue(forKey: inode) }?.completion.notify()
    }
}

extension MetadataQueue.State {
    /// Returns the number of free places for fetches that no request awaits, and how many of them are
    /// worth a transaction.
    fileprivate func placesAhead(_ sideBySide: Int) -> (free: Int, enough: Int) {
        let all = min(sideBySide, window.current)
        return (all - running, max(1, all / 8))
    }
}
