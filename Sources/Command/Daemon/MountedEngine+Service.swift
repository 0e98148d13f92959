import Control
import Engine
import Foundation
import Host
import Synchronization
import SystemCalls

// The control API in terms of the engine.

extension MountedEngine {
    /// The minimum time between two reports of one stream.
    static var reportInterval: Duration { .milliseconds(200) }
    /// The minimum time between two looks at the state for one stream.
    static var restMin: Duration { .milliseconds(10) }
    /// How many times as long as the preparation of a report the pause after it is at least: below a
    /// directory with very many changes, a report takes long.
    static var restFactor: Int { 9 }

    var about: About {
        About(
            version: ProgramVersion.text, pid: getpid(), mountPoint: options.mountPoint,
            source: options.source, stateDirectory: options.stateDirectory,
            since: since.withLock { $0 })
    }

    func status(
        below paths: [String], limit: Int
    ) async throws(ControlError) -> StatusReport {
        try await onEngine { () async throws(EngineError) in
            var report = StatusReport(
                about, remote: RemoteReachability(isReachable: true, since: Date()))
            var above: Set<InodeNumber> = []
            var all = Set(paths)
            let once = paths.filter { all.remove($0) != nil }
            all = Set(once)
            for path in once where !path.isBelow(anyOf: all) {
                let inode = try await engine.resolve(path)
                try add(inode, limit: limit, to: &report, besides: &above)
            }
            // Counted with a directory above, and listed unless they are already.
            let listed = Set(report.items.map(\.path))
            for path in once where path.isBelow(anyOf: all) && !listed.contains(path) {
                let inode = try await engine.resolve(path)
                report.items.append(StatusItem(try engine.item(inode)))
            }
            report.limitTexts()
            report.lostAndFound = lostAndFound
            report.passthrough = PassthroughStatus(lending)
            try addPins(to: &report)
            report.traffic = traffic
            return report
        }
    }

    private var traffic: TrafficCounts {
        let (sent, received) = (engine.bytesSentPerSecond, engine.bytesReceivedPerSecond)
        return TrafficCounts(
            sent: engine.bytesSent, received: engine.bytesReceived,
            sentPerSecond: sent > 0 ? sent : nil, receivedPerSecond: received > 0 ? received : nil)
    }

    /// Nothing if the directory cannot be read, so that the rest of the status is still reported.
    private var lostAndFound: LostAndFound? {
        guard let count = try? engine.lostAndFoundCount(), count > 0 else { return nil }
        return LostAndFound(
            files: UInt64(count), path: "\(options.stateDirectory)/\(StateFiles.lostFolder)")
    }

    /// - Parameter above: Directories that were counted for one of several paths below them.
    private func add(
        _ inode: InodeNumber, limit: Int, to report: inout StatusReport,
        besides above: inout Set<InodeNumber>
    ) throws(EngineError) {
        var status = try engine.status(below: inode, limit: limit)
        status.leaveOut(&above)
        report.counts.items = status.itemCount
        report.unstored = status.unstoredCount > 0 ? status.unstoredCount : nil
        report.counts.localBytes = status.localBytes
        report.cacheBytesMax = status.cacheBytesMax
        report.counts.pending += status.pending.count
        if status.pending.excluded > 0 { report.counts.excluded = status.pending.excluded }
        if status.pending.openAndSent > 0 {
            report.counts.open = (report.counts.open ?? 0) + status.pending.openAndSent
        }
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
        _ path: String, after position: String?, limit: Int
    ) async throws(ControlError) -> ListPage {
        let last = position.flatMap { PercentCoding.decode($0).flatMap(FileName.init) }
        if position != nil, last == nil { throw ControlError.wrongPosition(of: path) }
        return try await onEngine { () async throws(EngineError) in
            let inode = try await engine.resolve(path)
            let lister = ItemLister(engine)
            do throws(EngineError) {
                let items = try await lister.items(of: inode, after: last, limit: limit)
                let parent = path.isEmpty ? "" : path + "/"
                return ListPage(
                    items: items.map { ListItem($0, path: "\(parent)\($0.name)") },
                    next: items.count == limit
                        ? items.last.map { PercentCoding.encode($0.name.bytes) } : nil)
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
            let settled = try await engine.settleConflict(inode, keeping: resolution)
            return ResolveReport(path: settled.path, isInTrash: settled.isInTrash)
        }
    }

    func link(to path: String) async throws(ControlError) -> LinkReport {
        try await onEngine { () async throws(EngineError) in
            LinkReport(url: try await engine.publicLink(to: try await engine.resolve(path)))
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
}

extension String {
    /// Whether it is a path below one of others, from the same directory on; all of them without `.`, `..` and
    /// slashes at the ends.
    fileprivate func isBelow(anyOf others: Set<String>) -> Bool {
        if isEmpty { return false }
        var above = self[...]
        while let slash = above.lastIndex(of: "/") {
            above = above[..<slash]
            if others.contains(String(above)) { return true }
        }
        return others.contains("")
    }
}
