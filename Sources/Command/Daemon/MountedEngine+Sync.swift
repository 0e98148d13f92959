import Control
import Engine
import Host

// Sync and unmount of the control API in terms of the engine.

extension MountedEngine {
    /// The number of items that the last report lists of a sync that took too long.
    private static var waitingMax: Int { SyncMoment.waitingMax }
    /// The number of items among which a sync looks for uploads and failures.
    private static var syncItemsMax: Int { 1_000 }
    /// How often an unmount syncs while programs go on changing files.
    private static var unmountSyncsMax: Int { 3 }
    /// The number of items that wait for their turn in a report, and the time from which on they are of interest.
    private static var queuedMax: Int { 3 }
    private static var queuedAfter: Duration { .seconds(2) }
    /// The maximum time between two reports: ages and the time to the next attempt change although nothing
    /// else does.
    private static var reportIntervalMax: Duration { .seconds(1) }

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
            var before = await self.pendingProgress()
            // Changes since the last look are sent too.
            for _ in 0..<Self.unmountSyncsMax where !now {
                let last = try await self.syncBeforeUnmounting(timeout) { progress in
                    var progress = progress
                    // The last report follows the unmount.
                    progress.isDone = progress.isDone && progress.isInVain
                    report(progress)
                }
                if last.isInVain { return }
                before = await self.pendingProgress()
                if before.remaining == 0 { break }
            }
            // A program that has a file open for writing may change and close it between two attempts.
            try await self.unmountIfUnused(isPatient: now || before.pending == 0)
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
            return try await moment(of: nil, sentBefore: 0).progress
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
        let request = try await onEngine { () async throws(EngineError) in
            await self.probe(within: timeout, report)
            return try engine.hasten(below: try await self.inodes(of: paths))
        }
        var patience = SyncPatience()
        let pace = StreamPace(delay: .zero)
        while true {
            let (count, idleCount) = (engine.changeCount, engine.idleCount)
            let start = clock.uptime
            var moment = try await moment(of: request, sentBefore: sentBefore)
            patience.limit(
                &moment.progress, isSending: moment.isSending, unanswered: moment.unanswered,
                at: clock.uptime)
            var progress = moment.progress
            if let end, clock.uptime >= end, !progress.isDone {
                try await stopWaiting(for: request.inodes, &progress)
            } else if clock.uptime >= Self.queuedAfter, progress.isUnexplained {
                progress.queued = try await waits(below: request.inodes, limit: Self.queuedMax)
            }
            let cost = clock.uptime - start
            if progress.isDone || pace.isDue() { report(progress) }
            if progress.isDone { return progress }
            let left = end.map { max(.zero, $0 - clock.uptime) } ?? .seconds(1e9)
            let rest = min(left, max(Self.restMin, cost * Self.restFactor))
            try await Task.sleep(for: rest)
            // The end is reported at once, progress now and then.
            await engine.waitUntilIdle(
                after: idleCount, within: max(.zero, min(left, Self.reportInterval) - rest))
            try Task.checkCancellation()
            await engine.waitForChange(
                after: count, within: min(left, Self.reportIntervalMax))
        }
    }

    /// Asks a remote that is lost, or has refused the credentials; reports that if it takes long.
    private func probe(
        within limit: Duration?, _ report: @escaping @Sendable (SyncProgress) -> Void
    ) async {
        await withTaskGroup { group in
            group.addTask {
                await self.engine.refreshes.probe()
                return true
            }
            group.addTask {
                guard (try? await Task.sleep(for: Self.queuedAfter)) != nil else { return false }
                var progress = await self.pendingProgress()
                guard !Task.isCancelled, progress.unverified == nil else { return false }
                (progress.isDone, progress.failed, progress.unsent) = (false, [], 0)
                progress.unreachable = Problem(
                    what: "reach the remote",
                    why: "asking the remote whether it answers by now, and accepts the credentials")
                report(progress)
                return false
            }
            if let limit {
                group.addTask {
                    try? await Task.sleep(for: limit)
                    return true
                }
            }
            for await isOver in group where isOver { break }
            group.cancelAll()
        }
    }

    /// Makes a report the last one, with the items that are not on the remote, as the time is over.
    private func stopWaiting(
        for inodes: [InodeNumber], _ progress: inout SyncProgress
    ) async throws(ControlError) {
        progress.isTimedOut = true
        progress.isDone = true
        progress.unsent = progress.remaining
        progress.waiting = try await waits(below: inodes, limit: Self.waitingMax)
    }

    /// Returns the first items that are not on the remote.
    private func waits(
        below inodes: [InodeNumber], limit: Int
    ) async throws(ControlError) -> [SyncProgress.Wait] {
        try await onEngine { () async throws(EngineError) in
            var waits: [SyncProgress.Wait] = []
            for inode in inodes {
                let items = try engine.status(below: inode, limit: limit).items
                waits += items.filter { $0.failure?.isHeldDeletion != true && !$0.isOpenAndSent }
                    .map { .init($0) }
            }
            return Array(waits.prefix(limit))
        }
    }

    /// - Parameter request: nil for all of the mount.
    private func moment(
        of request: SyncRequest?, sentBefore: UInt64
    ) async throws(ControlError) -> SyncMoment {
        try await onEngine { () async throws(EngineError) in
            var moment = SyncMoment()
            for inode in request?.inodes ?? [.root] {
                moment.add(
                    try engine.status(
                        below: inode, limit: Self.syncItemsMax, onlyActive: true, for: request))
            }
            moment.finish(outage: engine.outage)
            moment.progress.bytesSent = engine.bytesSent - sentBefore
            return moment
        }
    }
}
