import GRDB
import Logging
import Synchronization

extension Engine {
    /// Has an inode looked at once `delay` has passed.
    func enqueue(_ inode: InodeNumber, after delay: Duration) {
        enqueue([inode], after: delay)
    }

    func enqueue(_ inodes: [InodeNumber], after delay: Duration) {
        guard !inodes.isEmpty else { return }
        let time = clock.uptime + delay
        queue.withLock { queue in
            for inode in inodes { queue.enqueue(inode, at: time) }
        }
        queueBell.ring()
        changeBell.ring()
    }

    /// Has inodes no longer looked at that went along with another one.
    func settle(_ inodes: [InodeNumber]) {
        guard !inodes.isEmpty else { return }
        queue.withLock { queue in
            for inode in inodes { queue.settle(inode, at: clock.uptime) }
        }
        conflictNames.withLock { names in
            for inode in inodes { names[inode] = nil }
        }
        queueBell.ring()
    }

    /// Brings pending inodes to the remote until it is cancelled.
    func runSynchroniser() async {
        await withDiscardingTaskGroup { group in
            var alarm: Duration?
            while !Task.isCancelled {
                let rings = queueBell.rings
                switch queue.withLock({ $0.next(at: clock.uptime) }) {
                case .start(let inode):
                    group.addTask { await self.runOne(inode) }
                case .refill(let last, let limit, let includesHeld):
                    refill(after: last, limit: limit, includesHeld: includesHeld)
                case .wait(let until):
                    if let until, alarm.map({ until < $0 || $0 <= clock.uptime }) ?? true {
                        alarm = until
                        group.addTask {
                            try? await self.clock.sleep(until: until)
                            self.queueBell.ring()
                        }
                    }
                    await queueBell.wait(after: rings)
                }
            }
            group.cancelAll()
        }
    }

    private func refill(after last: InodeNumber, limit: Int, includesHeld: Bool) {
        do throws(Halt) {
            let inodes = try store.read {
                try $0.pendingInodes(after: last, limit: limit, includesHeld: includesHeld)
            }
            queue.withLock { $0.refill(inodes, limit: limit, at: clock.uptime) }
        } catch {
            // Without its database nothing goes on; each request says so to its caller.
            logger.error("pending changes cannot be read", metadata: ["reason": "\(error)"])
            queue.withLock { $0.refillFailed(at: clock.uptime) }
        }
    }

    /// Something has got done for an inode that is being synchronised.
    func noteMove(of inode: InodeNumber) {
        queue.withLock { $0.noteMove(of: inode, at: clock.uptime) }
    }

    private func runOne(_ inode: InodeNumber) async {
        let outcome: SyncQueue.Outcome
        do {
            outcome = try await synchronise(inode)
        } catch {
            outcome = noteSyncFailure(error, of: inode)
        }
        if case .done = outcome { _ = conflictNames.withLock { $0.removeValue(forKey: inode) } }
        queue.withLock { $0.finish(inode, outcome, at: clock.uptime) }
        queueBell.ring()
        changeBell.ring()
    }

    // MARK: One inode

    /// Plans and carries out, again and again, until nothing is left to do or it has to wait.
    private func synchronise(_ inode: InodeNumber) async throws -> SyncQueue.Outcome {
        // A bound, so that an inode whose states never agree cannot spin.
        for _ in 0..<16 {
            noteMove(of: inode)
            let state = try store.read { try syncState(of: inode, $0) }
            guard let state else {
                if try store.read({ try $0.isPending(inode) }) {
                    try store.write { try $0.removePending(inode) }
                }
                return .done
            }
            let plan = Planner.plan(state)
            logger.debug("planned", metadata: ["inode": "\(inode)", "plan": "\(plan)"])
            switch plan {
            case .none:
                if try settleIfDone(inode) {
                    _ = refusals.withLock { $0.remove(inode) }
                    return .done
                }
            case .wait(let other):
                return try wait(inode, for: other)
            case .waitForWriter:
                if let outcome = try await waitForWriter(state) { return outcome }
            case .waitForConfirmation:
                return try waitForConfirmation(inode)
            case .delete where try deletionDue() != nil:
                return try waitForBurst(inode)
            case .forget where try !store.read({ try $0.isPending(inode) }):
                // It went along with another one.
                return .done
            case .takeRemote, .removeLocal, .createAnew, .forget:
                let changes = try store.write { database in
                    var changes = makeChanges()
                    if let now = try syncState(of: inode, database), Planner.plan(now) == plan {
                        try applyLocally(plan, now, &changes, database)
                        if now.remote == .gone, plan == .removeLocal || plan == .forget {
                            try applyDeletions(after: inode, &changes, database)
                        }
                    }
                    return changes
                }
                try finish(changes)
                if let writing = changes.awaited { return .blocked(by: writing) }
                if plan == .forget, try !store.read({ try $0.isPending(inode) }) { return .done }
                await Task.yield()
            case .verify(let attempt):
                if let outcome = try await verify(attempt, state) { return outcome }
            case .conflict(let object):
                try await resolve(state, object)
            case .createDirectory, .createSymlink, .upload, .move, .moveAside, .setAttributes,
                .delete:
                if let holder = try await perform(plan, state) { return .blocked(by: holder) }
            }
            if Task.isCancelled { return .again(after: .zero) }
        }
        return .again(after: .seconds(1))
    }

    /// - Returns: When to look again. What waits for something that cannot be sent cannot be sent.
    private func wait(
        _ inode: InodeNumber, for other: InodeNumber
    ) throws(Halt) -> SyncQueue.Outcome {
        try store.write { database in
            guard let blocker = try database.pending(other) else {
                return .again(after: .seconds(1))
            }
            let isHeld = try database.isHeld(other)
            guard let failure = blocker.failure, failure.isFinal || isHeld else {
                return .blocked(by: other)
            }
            let name = ObjectKey(try database.path(of: other))
            try database.setFailure(
                SyncFailure(
                    kind: failure.kind, what: "wait for \"\(name)\"", why: failure.why,
                    remedy: failure.remedy, isFinal: true),
                attempts: 0, of: inode)
            return .stuck(behind: other)
        }
    }

    /// Takes an inode off the list, if its plan is still to do nothing.
    private func settleIfDone(_ inode: InodeNumber) throws(Halt) -> Bool {
        try store.write { database in
            guard let state = try syncState(of: inode, database), Planner.plan(state) == .none
            else { return false }
            try database.removePending(inode)
            return true
        }
    }

    /// A file that is open for writing is sent now and then; one whose writer is gone, at once.
    ///
    /// - Returns: nil where it can be planned again now.
    private func waitForWriter(_ state: SyncState) async throws -> SyncQueue.Outcome? {
        let inode = state.inode
        guard let file = files.existing(inode), file.state.withLock({ $0.writers > 0 }) else {
            try recoverAbandonedWrite(inode)
            return nil
        }
        let isDue = file.state.withLock { state in
            state.longWriterDue.map { $0 <= clock.uptime } ?? false
        }
        if isDue, try await uploadOpenFile(state, file) { return nil }
        let due = file.state.withLock { state in
            let due =
                state.longWriterDue.flatMap { $0 > clock.uptime ? $0 : nil }
                ?? clock.uptime + configuration.longWriterInterval
            state.longWriterDue = due
            return due
        }
        return .again(after: due - clock.uptime)
    }

    /// A file that the database says is being written while nobody does.
    private func recoverAbandonedWrite(_ inode: InodeNumber) throws(Halt) {
        let isFree: Void? = try files.withExclusive(inode) { () throws(Halt) in
            try finishAbandonedWrite(inode)
        }
        if isFree == nil, let file = files.existing(inode) { settle(inode, file) }
    }

    // MARK: Failures

    /// Notes why an inode could not be synchronised, and when to try again.
    private func noteSyncFailure(_ error: any Error, of inode: InodeNumber) -> SyncQueue.Outcome {
        // A request that was cancelled although we were not is tried again like any that failed.
        if Task.isCancelled { return .again(after: .zero) }
        if let error = error as? ProviderError, error.kind == .unauthorized {
            // The queue rests until the credentials work. What is refused when they do is refused
            // for itself.
            let isFirst = refusals.withLock { $0.insert(inode).inserted }
            if isFirst { return .again(after: .seconds(1)) }
        }
        do throws(Halt) {
            let attempts = try store.write { database in
                let attempts = (try database.pending(inode)?.attempts ?? 0) + 1
                var failure = SyncFailure(error)
                failure.what = try database.shown(failure.what, of: inode)
                try database.setFailure(failure, attempts: attempts, of: inode)
                return attempts
            }
            logger.warning(
                "synchronisation failed",
                metadata: ["inode": "\(inode)", "attempt": "\(attempts)", "reason": "\(error)"])
            var backoff = Backoff(
                first: .seconds(1), longest: .seconds(300), attempts: attempts - 1)
            let delay = backoff.next(random)
            return .again(after: max(delay, (error as? ProviderError)?.retryAfter ?? .zero))
        } catch {
            logger.error(
                "state not written", metadata: ["inode": "\(inode)", "reason": "\(error)"])
            return .again(after: .seconds(5))
        }
    }
}

extension Database {
    /// What was attempted with an inode, told by the path here of what stepped aside, or was to.
    fileprivate func shown(_ attempt: String, of inode: InodeNumber) throws -> String {
        guard attempt.contains(FileName.asidePrefix) else { return attempt }
        var attempt = attempt
        var current = inode
        while current != .root {
            let path = ObjectKey(try path(of: current)).description
            let name = FileName.aside(current, salt: try salt()).description
            attempt = attempt.replacing("\"\(name)", with: "\"\(path)")
                .replacing("\"\(path)\" to \"\(path)\"", with: "\"\(path)\"")
            current = try synced(current)?.parent ?? .root
        }
        return attempt
    }
}

extension EngineError {
    /// Whether it is this machine that has no room or descriptor, which may change by itself.
    fileprivate var isLocalAndPassing: Bool {
        kind == .tooManyOpen || kind == .outOfSpace && (cause as? ProviderError)?.kind != .full
    }
}

extension SyncFailure {
    init(_ error: any Error) {
        switch error {
        case let error as ProviderError:
            let known = EngineError(error)
            // What passes by itself asks nothing of anybody, but where the store says what.
            self.init(
                kind: known.kind, what: error.attempt, why: error.reason,
                remedy: error.isPassing ? error.remedy : known.remedy,
                isFinal: !error.isPassing && !known.isLocalAndPassing)
        case let error as EngineError:
            self.init(
                kind: error.kind, what: error.attempt, why: error.kind.phrase,
                remedy: error.remedy, isFinal: !error.isLocalAndPassing)
        case .failure(let error) as Halt:
            self.init(error)
        default:
            self.init(
                kind: .failed, what: "synchronise", why: "\(error)", remedy: nil, isFinal: true)
        }
    }
}
