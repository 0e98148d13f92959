import Synchronization

/// The looks at single objects that somebody waits for, or may soon: some side by side, one at a
/// time of an inode, those first that are waited for.
final class LookQueue: Sendable {
    /// One look, from the first wish to its end.
    final class Flight: Sendable {
        /// Rings once, at the end.
        let landing = Doorbell()
    }

    /// How many may wait for their turn; of more, only those are taken that somebody waits for.
    /// These are bounded by the requests of the kernel.
    private static let expectedMax = 1_024
    /// How many are remembered that were looked at in vain.
    private static let vainMax = 1_024

    private struct State {
        var flights: [InodeNumber: Flight] = [:]
        var awaited: [InodeNumber] = []
        var expected: [InodeNumber] = []
        /// Until when nobody waits for an inode.
        var vain: [InodeNumber: Duration] = [:]
        /// Until when nobody waits for any.
        var allVain: Duration?
        var successes: UInt64 = 0
        var isClosed = false
    }

    private let state = Mutex(State())
    /// Rings when something is wanted.
    let signal = Doorbell()

    /// Asks for a look, or joins the one that is under way.
    ///
    /// - Parameter isAwaited: Whether somebody waits for it, and not just may want it.
    @discardableResult
    func request(_ inode: InodeNumber, isAwaited: Bool) -> Flight {
        let (flight, isNew) = state.withLock { state in
            let flight = state.flights[inode] ?? Flight()
            let isKnown = state.flights[inode] != nil
            if state.isClosed
                || (!isAwaited && !isKnown && state.expected.count >= Self.expectedMax)
            {
                flight.landing.ring()
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
        if isNew { signal.ring() }
        return flight
    }

    // MARK: What is not waited for

    /// Whether a look has been waited for in vain a moment ago.
    func isVain(_ inode: InodeNumber, at now: Duration) -> Bool {
        state.withLock { state in
            if let all = state.allVain, now < all { return true }
            guard let one = state.vain[inode] else { return false }
            if now < one { return true }
            state.vain[inode] = nil
            return false
        }
    }

    /// - Parameter inode: nil where it says nothing good of any.
    func noteVain(_ inode: InodeNumber?, until end: Duration) {
        state.withLock { state in
            guard let inode else {
                state.allVain = end
                return
            }
            if state.vain.count >= Self.vainMax { state.vain = [:] }
            state.vain[inode] = end
        }
    }

    /// The remote answers again.
    func noteSuccess() {
        state.withLock { state in
            state.allVain = nil
            state.successes += 1
        }
    }

    /// How many looks have succeeded.
    var successes: UInt64 { state.withLock(\.successes) }

    // MARK: Doing

    /// Does what is wanted until the calling task is cancelled.
    ///
    /// - Parameter isResting: Whether nothing is to be begun until ``signal``.
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
                let rings = signal.rings
                guard !isResting(), let inode = next() else {
                    await signal.wait(after: rings)
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
        state.withLock { $0.flights.removeValue(forKey: inode) }?.landing.ring()
    }
}
