import Control
import Engine
import Foundation
import Host
import Synchronization

// The control API in terms of the engine.

extension MountedEngine {
    /// The number of failing items in a report of a sync.
    private static var waitingMax: Int { 20 }
    /// The number of items among which a sync looks for uploads and failures.
    private static var syncItemsMax: Int { 1_000 }
    /// Limit for the texts of a report's items, so that a report of 100,000 stays within memory.
    private static var itemBytesMax: Int { 32 << 20 }
    /// The minimum time between two reports of one stream.
    static var reportInterval: Duration { .milliseconds(200) }
    /// How many times as long as the preparation of a report the pause after it is at least: below a
    /// directory with very many changes, a report takes long.
    static var restFactor: Int { 9 }
    /// The maximum time between two reports of a sync that is delayed.
    private static var delayInterval: Duration { .seconds(1) }

    var about: About {
        About(
            version: Apus.version, pid: getpid(), mountPoint: options.mountPoint,
            source: options.source, stateDirectory: options.stateDirectory,
            since: since.withLock { $0 })
    }

    func status(
        below paths: [String], limit: Int
    ) async throws(ControlError) -> StatusReport {
        try await onEngine { () async throws(EngineError) in
            var report = StatusReport(
                about, remote: RemoteReachability(isReachable: true, since: Date()))
            for path in paths {
                let inode = try await engine.resolve(path)
                try add(inode, limit: limit, to: &report)
            }
            report.limitItems(toBytes: Self.itemBytesMax)
            report.lostAndFound = lostAndFound
            report.passthrough = PassthroughStatus(lending)
            report.pins = try pinCounts()
            return report
        }
    }

    /// Nothing if the directory cannot be read, so that the rest of the status is still reported.
    private var lostAndFound: LostAndFound? {
        guard let count = try? engine.lostAndFoundCount(), count > 0 else { return nil }
        return LostAndFound(
            files: UInt64(count), path: "\(options.stateDirectory)/\(StateFiles.lostFolder)")
    }

    private func add(
        _ inode: InodeNumber, limit: Int, to report: inout StatusReport
    ) throws(EngineError) {
        let status = try engine.status(below: inode, limit: limit)
        report.counts.items = status.itemCount
        report.unstored = status.unstoredCount > 0 ? status.unstoredCount : nil
        report.counts.localBytes = status.localBytes
        report.cacheBytesMax = status.cacheBytesMax
        report.counts.pending += status.pending.count
        report.counts.deletions += status.pending.deletions
        report.counts.conflicts += status.conflictCount
        report.counts.pendingBytes += status.pending.bytes
        report.counts.uploading += status.pending.transferring
        report.counts.downloading += status.downloading
        report.counts.failed += status.pending.failed
        let held = try engine.heldDeletions(below: inode)
        if held.items > 0 {
            let more = HeldCounts(held)
            report.counts.held = report.counts.held.map { $0 + more } ?? more
        }
        report.isTruncated =
            report.isTruncated || status.pending.count + status.pending.held > UInt64(limit)
            || max(status.conflictCount, status.downloading) > UInt64(limit)
        report.remote = RemoteReachability(
            isReachable: status.reachability.isReachable,
            since: status.reachability.since?.date ?? report.since,
            refusesCredentials: status.reachability.isUnauthorized,
            message: status.reachability.reason)
        var items = status.items + status.downloads
        let isNamed = inode != .root
        if isNamed, !items.contains(where: { $0.inode == inode }) {
            items.insert(try engine.item(inode), at: 0)
        }
        report.items += items.map { StatusItem($0) }
        report.items += status.conflicts.map { conflict in
            var item = StatusItem(conflict)
            item.operation = .conflict
            item.since = conflict.since.date
            return item
        }
    }

    func list(
        _ path: String, after position: Int64, limit: Int
    ) async throws(ControlError) -> ListPage {
        try await onEngine { () async throws(EngineError) in
            let inode = try await engine.resolve(path)
            let lister = ItemLister(engine)
            do throws(EngineError) {
                let items = try await lister.items(of: inode, after: position, limit: limit)
                let parent = path.isEmpty ? "" : path + "/"
                return ListPage(
                    items: items.map { ListItem($0, path: "\(parent)\($0.name)") },
                    next: items.count == limit ? items.last?.cookie : nil)
            } catch  where error.kind == .notDirectory {
                let name = path.utf8.split(separator: UInt8(ascii: "/")).last
                guard let name = name.flatMap({ FileName(Array($0)) }),
                    let item = try await lister.item(inode, named: name)
                else { throw error }
                return ListPage(items: [ListItem(item, path: path)], next: nil)
            }
        }
    }

    func statusChanges() -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream<Void>.makeStream(
            bufferingPolicy: .bufferingNewest(1))
        let task = Task { [engine] in
            while !Task.isCancelled {
                let count = engine.changeCount
                continuation.yield()
                await engine.waitForChange(after: count)
            }
            continuation.finish()
        }
        continuation.onTermination = { _ in task.cancel() }
        return stream
    }

    func evict(_ paths: [String]) async throws(ControlError) -> EvictReport {
        try await onEngine { () async throws(EngineError) in
            var report = EvictReport.nothing
            for inode in try await inodes(of: paths) {
                let eviction = try engine.evict(inode)
                report.files += UInt64(eviction.files)
                report.bytesFreed += eviction.bytesFreed
                report.bytesLeaving += eviction.bytesLeaving
                report.refused += eviction.refused.map {
                    EvictReport.Refusal(path: $0.path, reason: $0.reason)
                }
            }
            return report
        }
    }

    func refresh(_ paths: [String]) -> AsyncThrowingStream<RefreshProgress, any Error> {
        stream { report in
            let inodes = try await self.onEngine { () async throws(EngineError) in
                try await self.inodes(of: paths)
            }
            var before = 0
            for inode in inodes {
                let listed = Mutex(0)
                try await self.onEngine { [before] () async throws(EngineError) in
                    try await self.engine.refreshes.refresh(below: inode) { count in
                        listed.withLock { $0 = count }
                        report(RefreshProgress(folders: UInt64(before + count)))
                    }
                }
                before += listed.withLock(\.self)
            }
            report(RefreshProgress(folders: UInt64(before), isDone: true))
        }
    }

    func inodes(of paths: [String]) async throws(EngineError) -> [InodeNumber] {
        var inodes: [InodeNumber] = []
        for path in paths { inodes.append(try await engine.resolve(path)) }
        return inodes
    }

    func resolve(_ path: String, keep: String) async throws(ControlError) -> ResolveReport {
        guard let resolution = ConflictResolution(rawValue: keep) else {
            throw ControlError(
                .invalid, what: "resolve \"\(path)\"", why: "\"\(keep)\" is not a valid choice",
                remedy: "keep mine, theirs or both")
        }
        return try await onEngine { () async throws(EngineError) in
            let inode = try await engine.resolve(path)
            return ResolveReport(
                path: try await engine.settleConflict(inode, keeping: resolution))
        }
    }

    func link(to path: String) async throws(ControlError) -> LinkReport {
        try await onEngine { () async throws(EngineError) in
            LinkReport(url: try await engine.publicLink(to: try await engine.resolve(path)))
        }
    }

    func confirmDeletions() async throws(ControlError) -> DeletionsReport {
        try await onEngine { () async throws(EngineError) in
            let confirmed = try engine.confirmDeletions()
            return DeletionsReport(
                here: HeldCounts(confirmed.here), onRemote: confirmed.onRemote)
        }
    }

    func rejectDeletions() async throws(ControlError) -> RejectionReport {
        try await onEngine { () async throws(EngineError) in
            let rejected = try await engine.deletions.reject()
            return RejectionReport(
                sentAgain: UInt64(rejected.sentAgain), broughtBack: UInt64(rejected.broughtBack),
                left: rejected.left, leftPaths: rejected.leftPaths)
        }
    }

    // MARK: Sync and unmount

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

    /// Returns a stream of the reports of `body`, which is cancelled if the stream ends.
    func stream<Report: Sendable>(
        _ body: @escaping @Sendable (@escaping @Sendable (Report) -> Void) async throws -> Void
    ) -> AsyncThrowingStream<Report, any Error> {
        // Of a client that reads slowly, only the last reports are kept.
        let (stream, continuation) = AsyncThrowingStream<Report, any Error>.makeStream(
            bufferingPolicy: .bufferingNewest(64))
        let task = Task {
            do {
                try await body { continuation.yield($0) }
                continuation.finish()
            } catch {
                continuation.finish(throwing: error)
            }
        }
        continuation.onTermination = { _ in task.cancel() }
        return stream
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
            await self.probeRefusedCredentials(within: timeout)
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

    private func probeRefusedCredentials(within limit: Duration?) async {
        guard let limit else { return await engine.refreshes.probeRefusedCredentials() }
        await withTaskGroup { group in
            group.addTask { await self.engine.refreshes.probeRefusedCredentials() }
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

extension StatusReport {
    /// Drops the last items if their texts take more than `bytesMax`.
    fileprivate mutating func limitItems(toBytes bytesMax: Int) {
        var bytes = 0
        let fitting = items.prefix { item in
            bytes +=
                item.path.utf8.count + (item.error?.description.utf8.count ?? 0)
                + (item.conflictsWith?.utf8.count ?? 0) + (item.target?.utf8.count ?? 0)
            return bytes <= bytesMax
        }
        guard fitting.count < items.count else { return }
        items = Array(fitting)
        isTruncated = true
    }
}

extension StatusItem {
    fileprivate init(_ item: PendingItem) {
        self.init(
            path: item.path, state: State(rawValue: item.state.rawValue) ?? .dirty,
            bytes: item.size, bytesSent: item.transfer?.bytesSent ?? 0, bytesHere: item.bytesHere)
        operation =
            item.transfer.map { Operation($0.kind) }
            ?? (item.isDeletion ? .delete : item.bytesHere.map { _ in .download })
        attempts = item.attempts
        awaitsPause = item.awaitsPause
        error = item.failure.map { Problem($0) }
        isPassing = item.failure?.isPassing ?? false
        retryAt = item.retry?.date
        since = item.state == .dirty || item.state == .uploading ? item.since.date : nil
        conflictsWith = item.counterpart
        target = item.link.map { String(decoding: $0.target, as: UTF8.self) }
        isContained = item.link?.isContained ?? false
    }
}

extension ListItem {
    fileprivate init(_ item: ListedItem, path: String) {
        let kind: Kind =
            switch item.kind {
            case .file: .file
            case .directory: .directory
            case .symlink: .link
            }
        let state: State =
            switch item.condition {
            case .state(let state): State(rawValue: state.rawValue) ?? .dirty
            case .conflict: .conflict
            case .failed: .failed
            }
        let percent = item.transfer.map { transfer in
            transfer.bytesTotal == 0
                ? 0
                : Int(
                    Double(min(transfer.bytesSent, transfer.bytesTotal))
                        / Double(transfer.bytesTotal) * 100)
        }
        self.init(
            path: path, kind: kind, state: state, percent: percent, bytes: item.size,
            modified: item.modified.date)
    }
}

extension HeldCounts {
    fileprivate init(_ held: HeldDeletions) {
        self.init(
            items: held.items, directories: held.directories,
            inDirectories: held.itemsInDirectories)
    }
}

extension StatusItem.Operation {
    fileprivate init(_ kind: Transfer.Kind) {
        self =
            switch kind {
            case .upload: .upload
            case .create: .create
            case .move: .move
            case .change: .attributes
            case .delete: .delete
            }
    }
}

extension Problem {
    fileprivate init(unauthorized reachability: Reachability) {
        self.init(
            what: "use the credentials", why: reachability.reason ?? "the remote refuses them",
            remedy: "renew them; the sync then continues automatically")
    }

    init(_ failure: SyncFailure) {
        self.init(what: failure.what, why: failure.why, remedy: failure.remedy)
    }
}

extension Timestamp {
    var date: Date {
        Date(timeIntervalSince1970: Double(nanoseconds) / 1_000_000_000)
    }
}
