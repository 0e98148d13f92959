import GRDB
import Logging
import Synchronization

/// Synchronises pending inodes with the remote: plans, carries out, and backs off after failures.
final class Synchroniser: Sendable {
    let configuration: EngineConfiguration
    let store: Store
    let clock: any Clock
    let logger: Logger
    let random: @Sendable () -> UInt64
    let agenda: Agenda
    let content: ContentStore
    let gate: RemoteGate
    let deletions: DeletionHold
    let merger: Merger
    let uploader: Uploader
    let conflicts: ConflictResolver

    init(
        configuration: EngineConfiguration, store: Store, clock: any Clock, logger: Logger,
        random: @escaping @Sendable () -> UInt64, agenda: Agenda, content: ContentStore,
        gate: RemoteGate, deletions: DeletionHold, merger: Merger, uploader: Uploader,
        conflicts: ConflictResolver
    ) {
        self.configuration = configuration
        self.store = store
        self.clock = clock
        self.logger = logger
        self.random = random
        self.agenda = agenda
        self.content = content
        self.gate = gate
        self.deletions = deletions
        self.merger = merger
        self.uploader = uploader
        self.conflicts = conflicts
    }

    /// Synchronises pending inodes until it is cancelled.
    func run() async {
        await withDiscardingTaskGroup { group in
            var alarm: Duration?
            var isPrepared = false
            while !Task.isCancelled {
                let notifications = agenda.signal.notifications
                switch agenda.next() {
                case .start(let inode):
                    group.addTask { await self.runOne(inode) }
                case .wait(let until):
                    if !isPrepared, isPreparationDue {
                        isPrepared = true
                        group.addTask { try? await self.gate.prepareForChanges() }
                    }
                    if let until, alarm.map({ until < $0 || $0 <= clock.uptime }) ?? true {
                        alarm = until
                        group.addTask {
                            try? await self.clock.sleep(until: until)
                            self.agenda.signal.notify()
                        }
                    }
                    await agenda.signal.wait(after: notifications)
                }
            }
            group.cancelAll()
        }
    }

    /// Whether the remote can be prepared for a change that will be sent soon.
    private var isPreparationDue: Bool {
        agenda.isChangeSettling && gate.preparesForChanges
            && !gate.isOutOfReach(at: clock.uptime)
    }

    private func runOne(_ inode: InodeNumber) async {
        let outcome: Agenda.Outcome
        do {
            outcome = try await synchronise(inode)
        } catch {
            outcome = noteSyncFailure(error, of: inode)
        }
        agenda.finish(inode, outcome)
    }

    /// Plans and carries out, until nothing is left to do or the inode has to wait.
    func synchronise(_ inode: InodeNumber) async throws -> Agenda.Outcome {
        // A bound, so that an inode whose states never agree cannot spin.
        for _ in 0..<16 {
            agenda.noteMove(of: inode)
            let commitCount = store.commitCount
            guard let state = try store.readInTurn({ try $0.syncState(of: inode, exclusions) })
            else { return try forget(inode) }
            let plan = Planner.plan(state)
            logger.debug("planned", metadata: ["inode": "\(inode)", "plan": "\(plan)"])
            switch plan {
            case .none:
                if try settleIfDone(inode, readAt: commitCount) {
                    _ = gate.refusals.withLock { $0.remove(inode) }
                    return .done
                }
            case .wait(let other):
                return try wait(inode, for: other)
            case .waitForWriter:
                if let outcome = try await waitForWriter(state, readAt: commitCount) {
                    return outcome
                }
            case .exclude, .include:
                if try applyExclusion(plan, to: inode) { return .done }
            case .keepHere(let namesake): throw try refusal(of: inode, besides: namesake)
            case .waitForConfirmation:
                return try deletions.waitForConfirmation(inode)
            case .delete
            where try state.kind == .file && store.readInTurn({ try $0.isReplacedUnsafely(inode) }):
                // The state has all of a symbolic link, whose replacement may wait for this deletion.
                if let outcome = try await postponeDeletion(state, readAt: commitCount) {
                    return outcome
                }
            case .delete where try deletions.due() != nil:
                return try deletions.waitForBurst(inode)
            case .forget where try !isPending(inode):
                // Removed together with another inode.
                return .done
            case .acceptRemote, .removeLocal, .createAnew, .forget:
                let awaited = try applyLocally(plan, to: inode)
                if let awaited { return .blocked(by: awaited) }
                if plan == .forget, try !isPending(inode) { return .done }
                await Task.yield()
            case .verify(let intent):
                if let outcome = try await uploader.verifier.verify(intent, state) {
                    return outcome
                }
            case .conflict(let object):
                if let awaited = try await conflicts.resolve(state, object) {
                    return .blocked(by: awaited)
                }
            case .createDirectory, .createSymlink, .upload, .move, .moveToTemporaryName,
                .setAttributes, .delete:
                if let outcome = try await perform(plan, state, readAt: commitCount) {
                    return outcome
                }
            }
            if Task.isCancelled { return .again(after: .zero) }
        }
        return .again(after: .seconds(1))
    }

    /// Postpones the deletion of a file that gets its name back if a power cut takes its successor.
    ///
    /// If the disk could not store the successor, or a program is writing it, that may take long, and the
    /// successor may itself wait for the place of this file on the remote: the file steps aside.
    ///
    /// - Returns: nil if the inode has to be planned again.
    private func postponeDeletion(
        _ state: SyncState, readAt commitCount: UInt64
    ) async throws -> Agenda.Outcome? {
        guard state.isPlaceWanted,
            try store.readInTurn({ try $0.isReplacedUnsafelyForLong(state.inode) })
        else { return .again(after: .seconds(5)) }
        return try await perform(.moveToTemporaryName, state, readAt: commitCount)
    }

    /// Ends the synchronisation of an inode that does not exist any more.
    private func forget(_ inode: InodeNumber) throws(Blocked) -> Agenda.Outcome {
        if try isPending(inode) { try store.write { try $0.removePending(inode) } }
        return .done
    }

    private func isPending(_ inode: InodeNumber) throws(Blocked) -> Bool {
        try store.readInTurn { try $0.isPending(inode) }
    }

    /// Carries out a plan on the remote.
    ///
    /// - Returns: nil if the inode has to be planned again.
    private func perform(
        _ plan: SyncOperation, _ state: SyncState, readAt commitCount: UInt64
    ) async throws -> Agenda.Outcome? {
        switch try await uploader.perform(plan, state, readAt: commitCount) {
        case .ended: return nil
        case .settled:
            _ = gate.refusals.withLock { $0.remove(state.inode) }
            return .done
        case .blocked(let holder): return .blocked(by: holder)
        }
    }

    /// Carries out a plan that changes the local side only, if it still holds.
    ///
    /// - Returns: The file open for writing that the plan has to wait for.
    private func applyLocally(
        _ plan: SyncOperation, to inode: InodeNumber
    ) throws(Blocked) -> InodeNumber? {
        try merger.merge { merge in
            if let now = try merge.database.syncState(of: inode), Planner.plan(now) == plan {
                try merge.applyLocally(plan, now)
                if now.remote == .gone, plan == .removeLocal || plan == .forget {
                    try merge.applyDeletions(after: inode)
                }
            }
            return merge.changes.awaited
        }
    }

    private var exclusions: Exclusions { configuration.exclusions }

    /// Keeps an inode here, or makes it an ordinary one, if that is still its plan.
    ///
    /// - Returns: Whether nothing is left to do for it.
    private func applyExclusion(
        _ plan: SyncOperation, to inode: InodeNumber
    ) throws(Blocked) -> Bool {
        let due = agenda.due()
        return try store.write { database in
            let state = try database.syncState(of: inode, exclusions)
            guard state.map(Planner.plan) == plan else { return false }
            guard plan == .exclude else {
                try database.include(inode, at: clock.wallTime, due: due)
                return false
            }
            try database.exclude(inode)
            return true
        }
    }

    private func refusal(
        of inode: InodeNumber, besides namesake: FileName
    ) throws(Blocked) -> ProviderError {
        let path = ObjectKey(try store.read { try $0.path(of: inode) })
        return ProviderError(
            .unsupported, attempt: "store \"\(path)\"",
            reason: "the remote takes its name for \"\(namesake)\" beside it",
            remedy: "rename one of the two")
    }

    /// An inode that waits for one that cannot be sent cannot be sent either.
    private func wait(
        _ inode: InodeNumber, for other: InodeNumber
    ) throws(Blocked) -> Agenda.Outcome {
        let (former, blocker, failure) = try store.readInTurn { database in
            let former = try database.pending(inode)?.failure
            let blocker = try database.pendingInode(atOrAbove: other, below: inode) ?? other
            guard let failure = try database.pending(blocker)?.failure,
                try failure.isFinal || database.isHeld(blocker)
            else { return (former, blocker, nil as SyncFailure?) }
            let name = ObjectKey(try database.path(of: blocker))
            return (
                former, blocker,
                SyncFailure(
                    kind: failure.kind, what: "wait for \"\(name)\"", why: failure.why,
                    remedy: failure.remedy, isFinal: true)
            )
        }
        if let failure, failure != former {
            try store.write { try $0.setFailure(failure, attempts: 0, of: inode) }
        }
        return .blocked(by: blocker)
    }

    /// Removes an inode from the pending ones, if its plan is still to do nothing.
    ///
    /// - Parameter commitCount: ``Store/commitCount`` before it was planned.
    private func settleIfDone(
        _ inode: InodeNumber, readAt commitCount: UInt64
    ) throws(Blocked) -> Bool {
        while true {
            let isDone: Bool? = try store.write { database in
                guard
                    try store.commitCount == commitCount
                        || database.syncState(of: inode).map(Planner.plan) == SyncOperation.none
                else { return false }
                if try database.wakeWaiters(of: inode, due: agenda.due()) { return nil }
                try database.removePending(inode)
                try database.record(.uploaded, on: .local, inode, at: clock.wallTime)
                return true
            }
            if let isDone { return isDone }
        }
    }

    /// Sends a file that is open for writing when ``LongWriter`` says; one without a writer, at once.
    ///
    /// - Returns: nil if it can be planned again now.
    private func waitForWriter(
        _ state: SyncState, readAt commitCount: UInt64
    ) async throws -> Agenda.Outcome? {
        let inode = state.inode
        guard let file = content.files.existing(inode), file.state.withLock({ $0.writers > 0 })
        else {
            try recoverAbandonedWrite(inode)
            return nil
        }
        if nextUpload(file) <= clock.uptime,
            try await uploadOpenFile(state, readAt: commitCount, file)
        {
            return nil
        }
        return .again(after: max(.zero, nextUpload(file) - clock.uptime))
    }

    private func nextUpload(_ file: OpenFile) -> Duration {
        file.state.withLock { state in
            state.longWriter.nextUpload(
                isCostly: content.snapshots.awaitsPause(state), at: clock.uptime,
                configuration.longWriterRules)
        }
    }

    /// Sends a file that stays open for writing.
    ///
    /// - Returns: Whether it was sent and has to be planned again.
    private func uploadOpenFile(
        _ state: SyncState, readAt commitCount: UInt64, _ file: OpenFile
    ) async throws -> Bool {
        let (start, rules) = (clock.uptime, configuration.longWriterRules)
        file.state.withLock { $0.longWriter.noteStart(at: start, rules) }
        defer {
            let now = clock.uptime
            file.state.withLock { $0.longWriter.noteEnd(startedAt: start, at: now, rules) }
        }
        var settled = state
        settled.local?.isWriting = false
        // Changes since the last snapshot have no generation of their own yet.
        if file.state.withLock(\.isChanged) { settled.local?.generation += 1 }
        let plan = Planner.plan(settled)
        switch plan {
        case .setAttributes where state.baseVersion == nil:
            // Its directory was deleted on the remote; the file is sent anew after its close.
            return false
        case .upload, .setAttributes:
            if case .blocked = try await uploader.perform(plan, state, readAt: commitCount) {
                return false
            }
            return true
        case .createAnew:
            // It was changed after its directory was deleted.
            try merger.merge { try $0.applyLocally(plan, state) }
            return true
        default: return false
        }
    }

    /// Finishes a write that is in progress according to the database but has no writer.
    private func recoverAbandonedWrite(_ inode: InodeNumber) throws(Blocked) {
        let isFree: Void? = try content.files.withExclusive(inode) { () throws(Blocked) in
            try content.finishAbandonedWrite(inode)
        }
        if isFree != nil {
            // The kernel may have the size and time from before the last write.
            content.space.kernelCache.announce([.inode(inode)])
        } else if let file = content.files.existing(inode) {
            content.settle(inode, file)
        }
    }

    /// Stores why an inode could not be synchronised, and returns when to retry.
    func noteSyncFailure(_ error: any Error, of inode: InodeNumber) -> Agenda.Outcome {
        // If only the request was cancelled, not this task, it is retried like any failed one.
        if Task.isCancelled { return .again(after: .zero) }
        if let error = error as? ProviderError, error.kind == .unauthorized {
            // The queue is paused until the credentials are accepted. A refusal after that concerns
            // the request itself.
            let isFirst = gate.refusals.withLock { $0.insert(inode).inserted }
            if isFirst { return .again(after: .seconds(1)) }
        }
        do throws(Blocked) {
            let attempts = try store.write { database in
                let attempts = (try database.pending(inode)?.attempts ?? 0) + 1
                var failure = SyncFailure(error)
                failure.what = try database.shown(failure.what, of: inode)
                try database.setFailure(failure, attempts: attempts, of: inode)
                return attempts
            }
            // The outage has an entry of its own, and thousands of changes may wait for its end.
            let isOutage =
                (error as? ProviderError)?.kind == .unreachable
                && gate.isOutOfReach(at: clock.uptime)
            logger.log(
                level: isOutage ? .debug : .warning, "synchronisation failed",
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
    /// Returns the description of an attempt, with the local paths of inodes moved aside instead of
    /// their temporary names.
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
