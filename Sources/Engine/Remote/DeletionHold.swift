import Synchronization

/// Holds bulk deletions on either side until they are confirmed or prove to be intended, see
/// ``DeletionGuard``.
final class DeletionHold: Sendable {
    private let store: Store
    private let clock: any Clock
    private let agenda: Agenda
    private let removalsMax: Int
    /// The deletions that one transaction releases, undoes or makes due.
    private let changesMax: Int
    let guardian = Mutex(DeletionGuard())

    init(store: Store, clock: any Clock, agenda: Agenda, removalsMax: Int, changesMax: Int) {
        self.store = store
        self.clock = clock
        self.agenda = agenda
        self.removalsMax = removalsMax
        self.changesMax = changesMax
    }

    /// Counts a locally deleted item that is still on the remote.
    func noteLocal() {
        guardian.withLock { $0.noteLocal(1, at: clock.uptime) }
    }

    func waitForConfirmation(_ inode: InodeNumber) throws(Blocked) -> Agenda.Outcome {
        if try store.read({ try $0.pending(inode)?.failure?.isHeldDeletion }) != true {
            try store.write { try $0.setFailure(.awaitsConfirmation, attempts: 0, of: inode) }
        }
        return .held
    }

    /// Returns when local deletions may be sent; nil means now.
    func due() throws(Blocked) -> Duration? {
        guard guardian.withLock(\.mayHoldLocal) else { return nil }
        let now = clock.uptime
        return try store.read { database in
            let due = try guardian.withLock {
                try $0.localDue(at: now) { try database.syncedCount() }
            }
            guard due != nil else { return nil }
            let isLarge = try database.hasPendingDeletions(over: guardian.withLock(\.waitingMin))
            return isLarge ? due : nil
        }
    }

    func waitForBurst(_ inode: InodeNumber) throws(Blocked) -> Agenda.Outcome {
        guard let due = try due() else { return .again(after: .zero) }
        let delay = max(due - clock.uptime, .milliseconds(1))
        let isSuspicious = guardian.withLock(\.isLocalSuspicious)
        // In the same transaction for the following ones, so that they are not planned each.
        try store.write { database in
            if isSuspicious, try database.pending(inode)?.failure != .rests {
                try database.setFailure(.rests, attempts: 0, of: inode)
                try database.noteRests(after: inode, limit: removalsMax)
            }
            try database.postponeDeletions(
                after: inode, limit: removalsMax, due: agenda.due(after: delay))
        }
        return .again(after: delay)
    }

    /// Counts the deletions that are unsent when the process starts as one burst. Continues to undo them if
    /// the process before has begun that: none may be sent meanwhile.
    func recover() throws(Blocked) {
        if try store.read({ try $0.isUndoingDeletions() }) {
            var last = InodeNumber(rawValue: 0)
            while try undoSome(after: &last) != nil {}
            try endUndoing()
        }
        let count = try store.read { database in
            // Upon a clean end there are none, and to look for them takes long if much is pending.
            try database.totals().deletions == 0 ? 0 : database.pendingDeletionCount()
        }
        guardian.withLock { $0.noteLocal(count, at: clock.uptime) }
    }

    /// Carries out the rest of a confirmation in which the process before has ended.
    func run() async {
        while !Task.isCancelled {
            if (try? await releaseConfirmed { _ in }) != nil { return }
            try? await clock.sleep(until: clock.uptime + .seconds(30))
        }
    }

    // MARK: Decisions of users

    /// Releases the held deletions of both sides. If the process dies meanwhile, the next one releases the
    /// rest of those of the remote.
    ///
    /// - Parameter report: Called with the progress after each transaction.
    func confirm(
        report: (ConfirmedDeletions) -> Void
    ) async throws(EngineError) -> ConfirmedDeletions {
        do throws(Blocked) {
            // First, so that none is confirmed that is not counted.
            try store.write { database in
                try database.noteConfirmation()
                // Before the commit, after which the deletions may be planned at any time.
                guardian.withLock { $0.confirm() }
            }
            var confirmed = ConfirmedDeletions(
                here: try store.read { try $0.heldDeletions(below: .root) })
            try await releaseConfirmed { count in
                let released = confirmed.released + count
                confirmed.released = min(released, confirmed.here.deletions)
                report(confirmed)
            }
            // Also those that another request has released meanwhile.
            confirmed.released = confirmed.here.deletions
            try await enqueueDeletions { count in
                confirmed.onRemote += count
                report(confirmed)
            }
            return confirmed
        } catch {
            throw error.failure
        }
    }

    /// - Parameter note: Called with the number of items that a transaction has released.
    private func releaseConfirmed(note: (Int) -> Void) async throws(Blocked) {
        var last = InodeNumber(rawValue: 0)
        while true {
            let released = try store.write { [last] in
                try $0.releaseConfirmed(after: last, limit: changesMax, due: agenda.due())
            }
            note(released.count)
            agenda.notify()
            await Task.yield()
            guard released.count == changesMax, let end = released.last else { return }
            last = end
        }
    }

    /// - Parameter note: Called with the number of deletions that a transaction has enqueued.
    private func enqueueDeletions(note: (Int) -> Void) async throws(Blocked) {
        var last = InodeNumber(rawValue: 0)
        while true {
            let enqueued = try store.write { [last] in
                try $0.enqueueDeletions(after: last, limit: changesMax, due: agenda.due())
            }
            guard let enqueued else { return }
            last = enqueued.last
            note(enqueued.count)
            agenda.notify()
            await Task.yield()
        }
    }

    /// Undoes the local deletions that are held: the remote's items appear here again. If the process dies
    /// meanwhile, the next one undoes the rest.
    ///
    /// - Parameter report: Called with the number of those that are undone so far.
    /// - Returns: Their number.
    func rejectLocal(report: (Int) -> Void) async throws(Blocked) -> Int {
        guard try due() != nil, guardian.withLock(\.isLocalSuspicious) else { return 0 }
        let count = try store.read { try $0.undoableDeletionCount() }
        try store.write { try $0.setUndoingDeletions(true) }
        var (undone, last) = (0, InodeNumber(rawValue: 0))
        while let more = try undoSome(after: &last) {
            undone += more
            report(undone)
            await Task.yield()
        }
        try endUndoing()
        try await enqueueDeletions { _ in }
        return count
    }

    /// - Returns: The number of deletions undone; nil at the end.
    private func undoSome(after last: inout InodeNumber) throws(Blocked) -> Int? {
        let undone = try store.write { [last] in
            try $0.undoDeletions(after: last, limit: changesMax)
        }
        guard let undone else { return nil }
        last = undone.last
        return undone.count
    }

    private func endUndoing() throws(Blocked) {
        try store.write { database in
            try database.setUndoingDeletions(false)
            // Before the commit, after which those that cannot be undone may be sent at any time.
            guardian.withLock { $0.confirm() }
        }
    }

    /// Returns the remote deletions at or below an inode that await confirmation.
    func held(below inode: InodeNumber) throws(EngineError) -> HeldDeletions {
        do throws(Blocked) {
            return try store.read { try $0.heldDeletions(below: inode) }
        } catch {
            throw error.failure
        }
    }
}
