import Synchronization

/// Holds bulk deletions on either side until they are confirmed or prove to be intended, see
/// ``DeletionGuard``.
final class DeletionHold: Sendable {
    private let store: Store
    private let clock: any Clock
    private let agenda: Agenda
    private let removalsMax: Int
    let guardian = Mutex(DeletionGuard())

    init(store: Store, clock: any Clock, agenda: Agenda, removalsMax: Int) {
        self.store = store
        self.clock = clock
        self.agenda = agenda
        self.removalsMax = removalsMax
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

    /// Counts the deletions that are unsent when the process starts as one burst.
    func recover() throws(Blocked) {
        let count = try store.read { try $0.pendingDeletionCount() }
        guardian.withLock { $0.noteLocal(count, at: clock.uptime) }
    }

    /// Releases the held deletions of both sides.
    ///
    /// - Returns: The remote deletions now applied locally, and the number of local deletions now
    ///   sent.
    func confirm() throws(EngineError) -> (here: HeldDeletions, onRemote: Int) {
        do throws(Blocked) {
            let here = try store.read { try $0.heldDeletions(below: .root) }
            let waiting = try store.write { database in
                try database.releaseHeld(due: agenda.due())
                let waiting = try database.enqueueDeletions(due: agenda.due())
                // Before the commit, after which the deletions may be planned at any time.
                guardian.withLock { $0.confirm() }
                return waiting
            }
            agenda.notify()
            return (here, waiting)
        } catch {
            throw error.failure
        }
    }

    /// Undoes the local deletions that are held: the remote's items appear here again.
    ///
    /// - Returns: Their number.
    func rejectLocal() throws(Blocked) -> Int {
        guard try due() != nil, guardian.withLock(\.isLocalSuspicious) else { return 0 }
        let count = try store.write { database in
            let count = try database.undoDeletions()
            _ = try database.enqueueDeletions(due: agenda.due())
            // Before the commit, after which the others may be planned at any time.
            guardian.withLock { $0.confirm() }
            return count
        }
        agenda.notify()
        return count
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
