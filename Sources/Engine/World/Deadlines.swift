import Synchronization

/// Cancels work at its deadline.
///
/// One task waits for the earliest of all deadlines, so that a deadline that is not reached costs
/// neither a task nor a timer.
final class Deadlines: Sendable {
    private struct Entry {
        var instant: Duration
        /// Returns a later instant if the deadline is extended.
        let extend: @Sendable () -> Duration?
        let cancel: @Sendable () -> Void
    }

    private struct State {
        var nextTicket: UInt64 = 0
        var entries: [UInt64: Entry] = [:]
        /// The next instant at which ``run()`` checks the entries.
        var nextCheck: Duration?
    }

    private let clock: any Clock
    private let state = Mutex(State())
    /// Notified when ``run()`` has to check earlier than planned.
    private let signal = Signal()

    init(clock: any Clock) {
        self.clock = clock
    }

    /// Performs `work`, and calls `cancel` if that takes longer than until `instant`.
    ///
    /// - Parameter extend: Called at the deadline; returns a later instant to wait on.
    /// - Returns: The result of `work`, and whether the deadline passed before.
    func limiting<Value>(
        to instant: Duration, extend: @escaping @Sendable () -> Duration? = { nil },
        cancel: @escaping @Sendable () -> Void, _ work: () async -> Value
    ) async -> (value: Value, isLate: Bool) {
        let ticket = add(Entry(instant: instant, extend: extend, cancel: cancel))
        let value = await work()
        return (value, state.withLock { $0.entries.removeValue(forKey: ticket) == nil })
    }

    private func add(_ entry: Entry) -> UInt64 {
        let (ticket, isFirst) = state.withLock { state in
            state.nextTicket += 1
            state.entries[state.nextTicket] = entry
            let isFirst = state.nextCheck.map { entry.instant < $0 } ?? true
            if isFirst { state.nextCheck = entry.instant }
            return (state.nextTicket, isFirst)
        }
        if isFirst { signal.notify() }
        return ticket
    }

    /// Cancels overdue work until the calling task is cancelled.
    func run() async {
        while !Task.isCancelled {
            let notifications = signal.notifications
            cancelOverdue()
            let next = state.withLock { state in
                state.nextCheck = state.entries.values.map(\.instant).min()
                return state.nextCheck
            }
            if let next {
                await signal.wait(after: notifications, until: next, on: clock)
            } else {
                await signal.wait(after: notifications)
            }
        }
    }

    private func cancelOverdue() {
        let now = clock.uptime
        // In the order of their arrival, so that a run can be replayed.
        let overdue = state.withLock { $0.entries.filter { $0.value.instant <= now } }
            .sorted { $0.key < $1.key }
        for (ticket, entry) in overdue {
            let later = entry.extend()
            let isOver = state.withLock { state in
                guard let later else { return state.entries.removeValue(forKey: ticket) != nil }
                state.entries[ticket]?.instant = later
                return false
            }
            if isOver { entry.cancel() }
        }
    }
}
