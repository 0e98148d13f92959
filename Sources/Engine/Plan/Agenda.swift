import GRDB
import Logging
import Synchronization

/// Decides which pending inode is synchronised next, and when.
///
/// The due times are in the database, written by the transactions that make inodes pending. They are
/// read from a clock of its own: ``Clock/uptime``, shifted so that it continues from the latest
/// time that an earlier engine has stored. So at a start everything is due, in the old order.
final class Agenda: Sendable {
    enum Action: Equatable {
        case start(InodeNumber)
        /// Nothing to do before this ``Clock/uptime``, or before ``signal`` is notified.
        case wait(until: Duration?)
    }

    /// The outcome of a started inode.
    enum Outcome: Equatable {
        /// Nothing is left to do: it is no longer pending, or has been enqueued again.
        case done
        /// Waits until another inode was synchronised, whatever its outcome.
        case blocked(by: InodeNumber)
        /// Waits for a user's decision, which enqueues it.
        case held
        /// Is retried after this delay.
        case again(after: Duration)
    }

    private struct State {
        var slots: SyncSlots
        /// The difference between due times and ``Clock/uptime``.
        var origin: Duration = .zero
        /// Whether no inode is started at present.
        var isPaused = false
        /// The due time before which nothing but a notification or the end of an operation makes
        /// ``next()`` start an inode; nil if any change may.
        var nextLook: Duration?
        /// Whether a program has changed something.
        var hasChange = false
        /// See ``isChangeSettling``.
        var isChangeSettling = false
        var burst = ChangeBurst()
        /// Nothing is started before, because the database failed.
        var restsUntil: Duration = .zero
        /// Whether ``hastenUnreachableOnce()`` was called.
        var hasHastened = false
        /// Whether ``hastenUnreachable()`` has left some for the next transaction.
        var isHastening = false
        /// The inodes that were running when ``hastenUnreachable()`` was called.
        var hastened: Set<InodeNumber> = []
        /// How often in succession inodes were blocked by one that was no longer pending.
        var standoffs: [InodeNumber: Int] = [:]
    }

    private let store: Store
    private let clock: any Clock
    private let logger: Logger
    private let state: Mutex<State>
    /// The number of conflict names that each inode has been given since it last agreed with the
    /// remote.
    let conflictNames = Locked<[InodeNumber: Int]>([:])
    /// The files that were given a conflict name since they last agreed with the remote, and that no
    /// program has tried to open for writing since: the first one may do so by the former name.
    let displaced = Locked<Set<InodeNumber>>([])
    /// Notified when there may be a new action to start.
    let signal = Signal()
    /// Notified whenever the status may have changed.
    let changes = Signal()
    /// Notified when the last running inode has ended: then everything may be on the remote.
    let idle = Signal()

    init(store: Store, clock: any Clock, logger: Logger, runningMax: Int) {
        self.store = store
        self.clock = clock
        self.logger = logger
        state = Mutex(State(slots: SyncSlots(runningMax: runningMax)))
    }

    /// Makes everything pending due. Called once, before any other method.
    func recover() throws(Blocked) {
        let latest = try store.write { try $0.recoverDue() }
        state.withLock { $0.origin = latest - clock.uptime }
    }

    /// Returns the due time of a change made now, to be stored by its transaction. After the commit
    /// the caller calls ``notify()``.
    func due(after delay: Duration = .zero) -> Duration {
        state.withLock { $0.origin } + clock.uptime + delay
    }

    /// Returns the delay until a stored due time.
    func delay(until due: Duration) -> Duration { max(.zero, due - self.due()) }

    /// Looks for due inodes after a transaction that has enqueued some.
    func notify() {
        signal.notify()
        changes.notify()
    }

    /// As ``notify()``, after a change by a program that has made inodes due at a time, or later: most
    /// changes become due later than others that wait already, and wake no thread.
    ///
    /// - Parameter due: The ``due(after:)`` of before the transaction.
    func notify(due: Duration) {
        let isAwaited = state.withLock { state in
            state.hasChange = true
            return state.nextLook.map { $0 <= due } ?? false
        }
        if !isAwaited { signal.notify() }
        changes.notify()
    }

    /// Notes that a program is about to change a name or attributes, see ``ChangeBurst``.
    func noteChange() { state.withLock { $0.burst.note(at: clock.uptime) } }

    /// Stops or continues to start operations.
    func setPaused(_ isPaused: Bool) { state.withLock { $0.isPaused = isPaused } }

    /// Records progress of an inode that is being synchronised.
    func noteMove(of inode: InodeNumber) {
        state.withLock { $0.slots.noteMove(of: inode, at: clock.uptime) }
    }

    /// Makes all pending inodes that concern one due now, see ``Database/concerns(_:_:)``, without settle
    /// time or backoff, and forgets their failures. Held deletions stay held.
    ///
    /// It reads only those that are not due, and changes up to 1,000 in a transaction.
    func hasten(below ancestor: InodeNumber) throws(Blocked) {
        state.withLock { $0.burst.end() }
        let now = due()
        for reason in WaitingReason.allCases {
            var position = reason.start(at: now)
            while let last = position {
                let (page, end) = try store.read { database in
                    let page = try database.waiting(reason, after: last, limit: Self.pageMax)
                    let released = try page.filter { _, record in
                        try (record.failure?.isHeldDeletion != true || record.due != nil)
                            && database.concerns(ancestor, record.inode)
                    }
                    return (released.map(\.record), page.count < Self.pageMax ? nil : page.last)
                }
                try hasten(page, due: now)
                position = end.map { ($0.key, $0.record.inode) }
            }
        }
        notify()
    }

    private func hasten(_ records: [PendingRecord], due: Duration) throws(Blocked) {
        guard !records.isEmpty else { return }
        try store.write { database in
            for record in records where record.failure != nil {
                try database.setFailure(nil, attempts: record.attempts, of: record.inode)
            }
            try database.enqueue(records.map(\.inode), due: due)
        }
    }

    /// All in one transaction would take long.
    private static let pageMax = 1_000

    /// The same as ``hastenUnreachable()`` the first time; nothing later.
    func hastenUnreachableOnce() {
        let isFirst = state.withLock { state in
            defer { state.hasHastened = true }
            return !state.hasHastened
        }
        if isFirst { hastenUnreachable() }
    }

    /// Schedules the inodes whose last attempt found the remote unreachable, ignoring their
    /// backoff.
    func hastenUnreachable() {
        // Their attempts may fail because of the outage that has just ended.
        state.withLock { $0.hastened.formUnion($0.slots.running.keys) }
        hastenSome()
    }

    private func hastenSome() {
        do throws(Blocked) {
            let count = try store.write {
                try $0.hasten(failedAs: .unreachable, limit: Self.hastenedMax, due: due())
            }
            state.withLock { $0.isHastening = count == Self.hastenedMax }
            notify()
        } catch {
            logger.debug("cannot reschedule waiting changes", metadata: ["reason": "\(error)"])
        }
    }

    /// ``next()`` goes on with the other inodes, so that no transaction takes long.
    static let hastenedMax = 4_096

    /// Whether the last ``next()`` found that nothing is due before a later time, after a program has
    /// changed something: its change is about to be sent.
    var isChangeSettling: Bool { state.withLock(\.isChangeSettling) }

    /// Returns the next action. Starts an inode if it is due and a slot is free; the caller
    /// synchronises it and calls ``finish(_:_:)``. Must not be called concurrently.
    func next() -> Action {
        let now = clock.uptime
        // Before the database is read: a change made meanwhile must not pass for known.
        let state = self.state.withLock { state in
            state.nextLook = nil
            state.isChangeSettling = false
            return state
        }
        if state.isPaused { return .wait(until: nil) }
        if state.isHastening { hastenSome() }
        guard state.slots.isFree(at: now) else {
            self.state.withLock { $0.nextLook = .zero }
            return .wait(until: state.slots.nextStandstill(after: now))
        }
        guard state.restsUntil <= now else { return .wait(until: state.restsUntil) }
        do throws(Blocked) {
            let first = try store.readInTurn { try $0.firstDue(except: state.slots.running.keys) }
            guard let first else { return .wait(until: nil) }
            let time = first.due - state.origin
            let start = state.burst.holdEnd(at: now) ?? time
            guard start <= now else {
                self.state.withLock { state in
                    state.nextLook = first.due
                    state.isChangeSettling = state.hasChange
                }
                return .wait(until: start)
            }
            self.state.withLock { $0.slots.start(first.inode, due: first.due, at: now) }
            return .start(first.inode)
        } catch {
            return .wait(until: rest(after: error))
        }
    }

    /// Notes that an inode is no longer pending.
    func forgetConflict(of inode: InodeNumber) {
        conflictNames.withLock { $0[inode] = nil }
        displaced.withLock { _ = $0.remove(inode) }
    }

    /// Stores when a started inode is due again, and makes those due that wait for it.
    func finish(_ inode: InodeNumber, _ outcome: Outcome) {
        if case .done = outcome {
            forgetConflict(of: inode)
        } else {
            do throws(Blocked) {
                while try !store.write({ try isStored(outcome, of: inode, in: $0) }) {}
            } catch {
                _ = rest(after: error)
            }
        }
        let isIdle = state.withLock { state in
            state.slots.finish(inode)
            state.hastened.remove(inode)
            if case .blocked = outcome {} else { state.standoffs[inode] = nil }
            return state.slots.running.isEmpty
        }
        notify()
        if isIdle { idle.notify() }
    }

    /// - Returns: false if so many inodes wait for this one that the rest needs another transaction.
    private func isStored(
        _ outcome: Outcome, of inode: InodeNumber, in database: Database
    ) throws -> Bool {
        guard let started = state.withLock({ $0.slots.running[inode]?.due }) else { return true }
        let now = due()
        // A blocked inode made no progress; its waiters are planned again in case they form a circle.
        let later = now + .seconds(1)
        let isBlocked = if case .blocked = outcome { true } else { false }
        if try database.wakeWaiters(of: inode, due: isBlocked ? later : now) { return false }
        switch outcome {
        case .done: break
        case .again(let delay):
            let isOver =
                try state.withLock { $0.hastened.contains(inode) }
                && database.pending(inode)?.failure?.kind == .unreachable
            try database.reschedule(
                inode, from: started, to: isOver ? now : now + delay, at: now)
        case .held:
            try database.reschedule(inode, from: started, to: nil, at: now)
        case .blocked(let blocker):
            let isPending = try database.isPending(blocker)
            try database.reschedule(
                inode, from: started, to: isPending ? now : now + standoff(of: inode),
                blockedBy: isPending ? blocker : nil, at: now)
        }
        return true
    }

    /// Returns the delay after which an inode is planned again that was blocked by one that is no
    /// longer pending. Usually that has just been completed, and its claim is about to end; no end
    /// of an operation would wake the waiting inode. The delay grows up to a second, as the claim
    /// may also be that of a long request.
    private func standoff(of inode: InodeNumber) -> Duration {
        state.withLock { state in
            if state.standoffs.count >= Self.standoffsMax { state.standoffs = [:] }
            let count = state.standoffs[inode, default: 0]
            state.standoffs[inode] = count + 1
            return min(.seconds(1), .milliseconds(10 << min(count, 7)))
        }
    }

    /// If there are more, all delays begin at the shortest again.
    private static let standoffsMax = 4_096

    /// Stops synchronisation for a while, until the database works again. Requests report its
    /// failure to their callers.
    private func rest(after error: Blocked) -> Duration {
        logger.error("cannot schedule pending changes", metadata: ["reason": "\(error)"])
        let time = clock.uptime + .seconds(5)
        state.withLock { $0.restsUntil = time }
        return time
    }
}
