import Synchronization

/// The stages of an outage, each of which ends more work in progress.
enum OutageStage: Int, Comparable {
    /// The remote has answered nothing for some time, a short probe included.
    case outOfReach
    /// Nor has it answered a probe with as much time as any query has.
    case confirmed

    static func < (one: Self, other: Self) -> Bool { one.rawValue < other.rawValue }
}

/// Cancels work at its deadline, or when the remote turns out to be out of reach.
///
/// One task waits for the earliest of all deadlines, so that a deadline that is not reached costs
/// neither a task nor a timer.
final class Deadlines: Sendable {
    private struct Entry {
        /// nil if only an outage ends it.
        var instant: Duration?
        let stage: OutageStage?
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
    /// - Parameters:
    ///   - instant: nil if there is no deadline.
    ///   - stage: The stage of an outage at which `cancel` is called too; nil for none.
    ///   - extend: Called at the deadline; returns a later instant to wait on.
    /// - Returns: The result of `work`, and whether `cancel` was called.
    func limiting<Value>(
        to instant: Duration?, endsAt stage: OutageStage? = nil,
        extend: @escaping @Sendable () -> Duration? = { nil },
        cancel: @escaping @Sendable () -> Void, _ work: () async -> Value
    ) async -> (value: Value, isLate: Bool) {
        let ticket = add(
            Entry(instant: instant, stage: stage, extend: extend, cancel: cancel))
        let value = await work()
        return (value, state.withLock { $0.entries.removeValue(forKey: ticket) == nil })
    }

    /// Performs `work` in a task of its own, which is cancelled with the calling one, and otherwise
    /// as ``limiting(to:endsAt:extend:cancel:_:)`` says.
    func limitingTask<Value: Sendable>(
        to instant: Duration?, endsAt stage: OutageStage? = nil,
        _ work: @escaping @Sendable () async -> Value
    ) async -> (value: Value, isLate: Bool) {
        let executor = withUnsafeCurrentTask { $0?.unownedTaskExecutor?.asTaskExecutor() }
        let task = Task(executorPreference: executor) { await work() }
        return await limiting(
            to: instant, endsAt: stage, cancel: { task.cancel() }
        ) {
            await withTaskCancellationHandler {
                await task.value
            } onCancel: {
                task.cancel()
            }
        }
    }

    /// Cancels the work that must not go on at this stage of an outage.
    func endForOutage(_ stage: OutageStage) {
        let ended = state.withLock { state in
            let ended = state.entries.filter { $0.value.stage.map { $0 <= stage } ?? false }
            for ticket in ended.keys { state.entries[ticket] = nil }
            // In the order of their arrival, so that a run can be replayed.
            return ended.sorted { $0.key < $1.key }
        }
        for (_, entry) in ended { entry.cancel() }
    }

    private func add(_ entry: Entry) -> UInt64 {
        let (ticket, isFirst) = state.withLock { state in
            state.nextTicket += 1
            state.entries[state.nextTicket] = entry
            guard let instant = entry.instant else { return (state.nextTicket, false) }
            let isFirst = state.nextCheck.map { instant < $0 } ?? true
            if isFirst { state.nextCheck = instant }
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
                state.nextCheck = state.entries.values.compactMap(\.instant).min()
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
        let overdue = state.withLock {
            $0.entries.filter { $0.value.instant.map { $0 <= now } ?? false }
        }
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
