import Control
import Engine
import Host

// Sync and unmount of the control API in terms of the engine.

extension MountedEngine {
    /// The number of failing items in a report of a sync.
    private static var waitingMax: Int { 20 }
    /// The number of items among which a sync looks for uploads and failures.
    private static var syncItemsMax: Int { 1_000 }
    /// The maximum time between two reports of a sync that is delayed.
    private static var delayInterval: Duration { .seconds(1) }

    func sync(
        below paths: [String], timeout: Duration?
    ) -> AsyncThrowingStream<SyncProgress, any Error> {
        stream { report in
            _ = try await self.syncUntilSettled(below: paths, timeout, report)
        }
    }

    func unmount(
        now: Bool, timeout: Duration?
    ) -> AsyncThrowingStream<SyncProgress, any Error> {
        stream { report in
            if !now {
                let last = try await self.syncBeforeUnmounting(timeout) { progress in
                    var progress = progress
                    // The last report follows the unmount.
                    progress.isDone = progress.isDone && progress.isInVain
                    report(progress)
                }
                if last.isInVain { return }
            }
            let before = await self.pendingProgress()
            try await self.unmountIfUnused()
            // This includes changes made since the last report.
            var last = await self.pendingProgress()
            if last.unverified != nil { last = before }
            last.isDone = true
            report(last)
        }
    }

    /// - Throws: `.failed` with a remedy if the pending changes cannot be determined.
    private func syncBeforeUnmounting(
        _ timeout: Duration?, _ report: @escaping @Sendable (SyncProgress) -> Void
    ) async throws -> SyncProgress {
        do {
            return try await syncUntilSettled(below: [""], timeout, report)
        } catch let error as ControlError {
            throw ControlError(
                .failed, what: "unmount \(options.mountPoint)",
                why: "the pending changes cannot be determined (\(error.problem.what): "
                    + "\(error.problem.why))",
                remedy: (error.problem.remedy.map { "\($0); or " } ?? "")
                    + "`apus unmount --now \(options.mountPoint)` ends the mount anyway; "
                    + "then run `apus check \(options.stateDirectory)`")
        }
    }

    /// Returns the pending changes of the whole mount, or the reason why they are not known.
    private func pendingProgress() async -> SyncProgress {
        do throws(ControlError) {
            return try await progress(of: [.root], sentBefore: 0).progress
        } catch {
            var progress = SyncProgress(isDone: false)
            progress.unverified = Problem(
                what: error.problem.what, why: error.problem.why,
                remedy: "run `apus check \(options.stateDirectory)` before the next mount")
            return progress
        }
    }

    /// Sends everything below the paths, and reports until nothing more can be sent, or the time is over.
    ///
    /// - Returns: The last report.
    private func syncUntilSettled(
        below paths: [String], _ timeout: Duration?,
        _ report: @escaping @Sendable (SyncProgress) -> Void
    ) async throws -> SyncProgress {
        let clock = SystemClock()
        let end = timeout.map { clock.uptime + $0 }
        let sentBefore = engine.bytesSent
        let inodes = try await onEngine { () async throws(EngineError) in
            await self.probe(within: timeout)
            let inodes = try await self.inodes(of: paths)
            for inode in inodes { try engine.hasten(below: inode) }
            return inodes
        }
        var patience = SyncPatience()
        var reported: SyncProgress?
        while true {
            let count = engine.changeCount
            let start = ContinuousClock.now
            var (progress, isSending) = try await progress(of: inodes, sentBefore: sentBefore)
            let cost = start.duration(to: .now)
            patience.limit(&progress, isSending: isSending, at: clock.uptime)
            if let end, clock.uptime >= end, !progress.isDone {
                try await stopWaiting(for: inodes, &progress)
            }
            let isDelayed = progress.waiting != nil || progress.unreachable != nil
            // The time to the next attempt changes although nothing else does.
            if progress != reported || isDelayed { report(progress) }
            reported = progress
            if progress.isDone { return progress }
            let left = end.map { max(.zero, $0 - clock.uptime) } ?? .seconds(1e9)
            let pause = max(Self.reportInterval, cost * Self.restFactor)
            try await Task.sleep(for: min(left, pause))
            let interval = isDelayed ? Self.delayInterval : SyncPatience.limit
            await engine.waitForChange(after: count, within: min(left, interval))
        }
    }

    private func probe(within limit: Duration?) async {
        guard let limit else { return await engine.refreshes.probe() }
        await withTaskGroup { group in
            group.addTask { await self.engine.refreshes.probe() }
            group.addTask { try? await Task.sleep(for: limit) }
            await group.next()
            group.cancelAll()
        }
    }

    /// Makes a report the last one, with the items that are not on the remote, as the time is over.
    private func stopWaiting(
        for inodes: [InodeNumber], _ progress: inout SyncProgress
    ) async throws(ControlError) {
        progress.isTimedOut = true
        progress.isDone = true
        progress.unsent = progress.pending
        let waits = try await onEngine { () async throws(EngineError) in
            var waits: [SyncProgress.Wait] = []
            for inode in inodes {
                let items = try engine.status(below: inode, limit: Self.waitingMax).items
                waits += items.filter { $0.failure?.isHeldDeletion != true }.map { .init($0) }
            }
            return Array(waits.prefix(Self.waitingMax))
        }
        progress.waiting = waits
    }

    private func progress(
        of inodes: [InodeNumber], sentBefore: UInt64
    ) async throws(ControlError) -> (progress: SyncProgress, isSending: Bool) {
        try await onEngine { () async throws(EngineError) in
            var progress = SyncProgress(isDone: true)
            var isSending = false
            var refusal: Problem?
            for inode in inodes {
                let status = try engine.status(
                    below: inode, limit: Self.syncItemsMax, onlyActive: true)
                progress.pending += status.pending.count
                if status.pending.held > 0 {
                    progress.held = (progress.held ?? 0) + status.pending.held
                }
                if status.pending.excluded > 0 { progress.excluded = status.pending.excluded }
                progress.bytesPending += status.pending.bytes
                progress.isDone = progress.isDone && status.pending.isSettled
                for item in status.items.map({ StatusItem($0) }) where item.state == .uploading {
                    progress.uploading.append(.init(path: item.path, percent: item.percent))
                }
                if status.reachability.isUnauthorized, !status.pending.isSettled {
                    // Nothing is sent until the user has renewed them.
                    refusal = Problem(unauthorized: status.reachability)
                    progress.unsent += status.pending.count
                } else {
                    progress.unsent += status.pending.failedFinally
                }
                // The reasons of the deletion guard; see `docs/semantics.md`. Remote deletions are in
                // `held`.
                if let rest = status.items.lazy.compactMap(\.failure).first(where: {
                    $0.kind == .busy && !$0.isHeldDeletion
                }) {
                    progress.resting = rest.why + (rest.remedy.map { " (\($0))" } ?? "")
                }
                isSending = isSending || status.pending.transferring > 0
                for item in status.items { progress.add(item) }
            }
            if let refusal {
                progress.isDone = true
                progress.failed.insert(.init(path: "", error: refusal), at: 0)
            }
            progress.uploading = Array(progress.uploading.prefix(5))
            progress.bytesSent = engine.bytesSent - sentBefore
            progress.waiting = progress.waiting.map { Array($0.prefix(Self.waitingMax)) }
            if !progress.isDone, let (reason, duration) = engine.outage {
                let time = HumanDuration.format(seconds: Double(duration.components.seconds))
                progress.unreachable = Problem(
                    what: "reach the remote",
                    why: "the remote has not answered for \(time) (\(reason))",
                    remedy: "check the connection; the changes are sent once it answers")
            }
            return (progress, isSending)
        }
    }
}

extension SyncProgress.Wait {
    /// The wait of any item that is not on the remote.
    fileprivate init(_ item: PendingItem) {
        let state = StatusItem(item)
        let reason =
            switch item.transfer?.kind {
            case .upload: "it is being sent, \(state.percent) %"
            case .some: "it is being sent"
            case nil where item.awaitsPause: "it is open for writing"
            case nil: "it waits for its turn"
            }
        self.init(
            path: item.path,
            error: state.error ?? Problem(what: "send \"\(item.path)\"", why: reason),
            attempts: item.attempts, retryAt: item.retry?.date, since: item.since.date)
    }
}

extension SyncProgress {
    /// Adds the last failure of an item, if it has one.
    fileprivate mutating func add(_ item: PendingItem) {
        guard let failure = item.failure else { return }
        if failure.isFinal {
            failed.append(.init(path: item.path, error: Problem(failure)))
        } else if failure.isPassing {
            waiting =
                (waiting ?? []) + [
                    Wait(
                        path: item.path, error: Problem(failure), attempts: item.attempts,
                        retryAt: item.retry?.date)
                ]
        }
    }
}
