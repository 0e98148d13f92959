import GRDB
import Synchronization

extension Engine {
    /// For the root, this takes as long as there are items returned, transfers, open files, and held
    /// deletions, however many items are pending; for other directories, as long as there are pending
    /// items.
    ///
    /// - Parameters:
    ///   - inode: Only pending items that concern it are counted, see ``Database/concerns(_:_:)``.
    ///   - limit: The maximum number of items returned.
    ///   - onlyActive: Whether to return only those pending items that failed or have a transfer.
    ///   - request: If given, files that are open for writing count as sent once they are as they were at the
    ///     request, whatever was written since.
    package func status(
        below inode: InodeNumber, limit: Int, onlyActive: Bool = false,
        for request: SyncRequest? = nil
    ) throws(EngineError) -> EngineStatus {
        try completed { () throws(Blocked) in
            let snapshot = ActivitySnapshot(self, request)
            let localBytes = try local.space.cache.localBytes()
            let cacheBytesMax = try local.space.bound()
            var status = try store.read { database in
                var status = EngineStatus()
                status.itemCount = try database.totals().names
                status.localBytes = localBytes
                status.cacheBytesMax = cacheBytesMax
                status.pending = try pendingSummary(below: inode, snapshot, database)
                status.items =
                    try pendingRecords(
                        below: inode, limit: limit, onlyActive: onlyActive, snapshot, database
                    ).map { try item($0, snapshot, database) }
                for (conflict, since) in try database.conflicts(below: inode, limit: limit) {
                    let record = PendingRecord(inode: conflict, since: since, attempts: 0)
                    var item = try item(record, snapshot, database)
                    if let dirent = try database.dirent(of: conflict),
                        let original = try database.conflictOriginal(of: conflict)
                    {
                        let parent = ObjectKey(try database.path(of: dirent.parent))
                        item.counterpart = parent.appending(original).description
                    }
                    status.conflicts.append(item)
                }
                status.conflictCount = try database.conflictCount(below: inode)
                status.unstoredCount = try database.inDangerCount()
                let fetched = try snapshot.bytesHere.keys.sorted()
                    .filter { try database.isBelow(inode, $0) }
                status.downloading = UInt64(fetched.count)
                let shown = Set(status.items.map(\.inode))
                status.downloads = try fetched.filter { !shown.contains($0) }.prefix(limit)
                    .map { try unmarked($0, snapshot, database) }
                return status
            }
            status.reachability = remote.gate.reachability.withLock { $0 }
            return status
        }
    }

    /// Counts the pending changes that concern an inode, as ``status(below:limit:)`` does.
    package func pending(below inode: InodeNumber) throws(EngineError) -> PendingSummary {
        try completed { () throws(Blocked) in
            let snapshot = ActivitySnapshot(self)
            return try store.read { try pendingSummary(below: inode, snapshot, $0) }
        }
    }

    /// Returns one item, pending or not.
    package func item(_ inode: InodeNumber) throws(EngineError) -> PendingItem {
        try completed { () throws(Blocked) in
            let state = try itemState(of: inode)
            let snapshot = ActivitySnapshot(self)
            return try store.read { database in
                var item = try unmarked(inode, snapshot, database)
                item.state = state
                return item
            }
        }
    }

    /// Returns the version of a file that both sides last agreed on; nil while the remote has none.
    package func agreedVersion(of inode: InodeNumber) throws(Blocked) -> ETag? {
        try store.readBriefly { try $0.synced(inode)?.etag }
    }

    /// Returns up to `limit` pending inodes, or failed ones, those first that the disk has failed to
    /// store. If there may be more, up to `limit` held deletions and all transfers follow, so that
    /// failures do not hide them.
    private func pendingRecords(
        below inode: InodeNumber, limit: Int, onlyActive: Bool, _ snapshot: ActivitySnapshot,
        _ database: Database
    ) throws -> [PendingRecord] {
        var records = try database.inDanger(below: inode, limit: limit)
        let inDanger = Set(records.map(\.inode))
        let others =
            try onlyActive
            ? database.failedPending(below: inode, limit: limit)
            : database.pending(below: inode, limit: limit)
        records += others.filter { !inDanger.contains($0.inode) }.prefix(limit - records.count)
        guard onlyActive || records.count >= limit else { return records }
        let transfers = try snapshot.transfers.keys.sorted()
            .filter { try database.isPending($0, below: inode) }
            .compactMap { try database.pending($0) }
        let listed = Set(records.map(\.inode))
        let held =
            records.count >= limit ? try database.heldPending(below: inode, limit: limit) : []
        return records + (held + transfers).filter { !listed.contains($0.inode) }
    }

    private func pendingSummary(
        below inode: InodeNumber, _ snapshot: ActivitySnapshot, _ database: Database
    ) throws -> PendingSummary {
        var summary = try database.pendingSummary(below: inode)
        if inode == .root { summary.excluded = try database.excludedCount() }
        summary.transferring = UInt64(
            try snapshot.transfers.keys.count { try database.isPending($0, below: inode) })
        for file in snapshot.openFiles {
            guard try database.isPending(file, below: inode),
                var state = try snapshot.openState(of: file, database), !state.isHeld
            else { continue }
            // Another client's changes are applied after the close.
            state.remote = nil
            guard Planner.plan(state) == SyncOperation.none else { continue }
            summary.openAndSent += 1
            summary.bytes -= min(summary.bytes, try database.inode(file)?.size ?? 0)
        }
        return summary
    }

    /// Returns one item that need not be pending.
    private func unmarked(
        _ inode: InodeNumber, _ snapshot: ActivitySnapshot, _ database: Database
    ) throws -> PendingItem {
        let record =
            try database.pending(inode)
            ?? PendingRecord(inode: inode, since: clock.wallTime, attempts: 0)
        return try item(record, snapshot, database)
    }

    private func item(
        _ pending: PendingRecord, _ snapshot: ActivitySnapshot, _ database: Database
    ) throws -> PendingItem {
        let transfer = snapshot.transfers[pending.inode]
        let record = try database.inode(pending.inode)
        let isPending = try database.isPending(pending.inode)
        let bytesHere = snapshot.bytesHere[pending.inode]
        let state: ItemState =
            transfer != nil
            ? .uploading
            : isPending
                ? .dirty
                : try database.isExcluded(pending.inode)
                    ? .excluded : bytesHere != nil ? .partial : ItemState(record?.presence)
        let path = ObjectKey(try database.path(of: pending.inode)).description
        var failure = pending.failure
        if try database.isInDanger(pending.inode) {
            failure = failure?.isFinal == true ? failure?.withUnstoredBytes : .unstored(path)
        }
        failure = try failure.map { try database.namingInodes(in: $0) }
        return PendingItem(
            inode: pending.inode, path: path,
            state: state, isDeletion: isPending && record?.links == 0, transfer: transfer,
            silence: transfer.map { max(.zero, clock.uptime - $0.lastSign) },
            size: record?.size ?? 0, bytesHere: bytesHere, attempts: pending.attempts,
            failure: failure,
            retry: pending.failure?.isPassing == true ? pending.due.map(retryTime) : nil,
            since: pending.since,
            awaitsPause: snapshot.awaitingPause.contains(pending.inode),
            isOpenAndSent: try isPending
                && snapshot.openState(of: pending.inode, database).map(Planner.plan)
                    == SyncOperation.none,
            link: try record.flatMap { try local.tree.symbolicLink($0, database) })
    }

    private func retryTime(_ due: Duration) -> Timestamp {
        // Rounded to a second, so that an unchanged status stays equal.
        let (seconds, attoseconds) = local.agenda.delay(until: due).components
        let part = clock.wallTime.nanoseconds + attoseconds / 1_000_000_000
        return Timestamp(seconds: part / 1_000_000_000 + seconds)
    }

    /// The number of changes so far to anything that ``status(below:limit:)`` shows.
    package var changeCount: UInt64 { local.agenda.changes.notifications }

    /// Returns once ``changeCount`` exceeds `count`, the task is cancelled, or `limit` has passed.
    package func waitForChange(after count: UInt64, within limit: Duration? = nil) async {
        guard let limit else { return await local.agenda.changes.wait(after: count) }
        await local.agenda.changes.wait(after: count, until: clock.uptime + limit, on: clock)
    }

    /// The number of times so far that an operation ended while no other one was under way.
    package var idleCount: UInt64 { local.agenda.idle.notifications }

    /// Returns once ``idleCount`` exceeds `count`, the task is cancelled, or `limit` has passed.
    package func waitUntilIdle(after count: UInt64, within limit: Duration) async {
        await local.agenda.idle.wait(after: count, until: clock.uptime + limit, on: clock)
    }

    /// The store's error text, and how long it has not answered; nil unless it is out of reach.
    package var outage: (reason: String, duration: Duration)? {
        let (state, now) = (remote.gate.reachability.withLock { $0 }, clock.uptime)
        guard state.isOutOfReach(at: now), let lostAt = state.lostAt else { return nil }
        return (state.reason ?? "no answer", now - lostAt)
    }

    /// The bytes that uploads have sent since the start, each counted once.
    package var bytesSent: UInt64 { transfer.progress.sentBytes.withLock(\.total) }

    /// The bytes a second that uploads have sent in the last seconds.
    package var bytesSentPerSecond: UInt64 {
        transfer.progress.recentBytes.withLock { $0.perSecond(at: clock.uptime) }
    }

    /// The bytes a second of files that have been fetched in the last seconds.
    package var bytesReceivedPerSecond: UInt64 {
        transfer.downloader.fetched.recent.withLock { $0.perSecond(at: clock.uptime) }
    }

    /// The bytes of files that have been fetched since the start.
    package var bytesReceived: UInt64 { transfer.downloader.fetched.total.withLock { $0 } }

    /// Returns the inode at a path from the mount point on.
    ///
    /// - Throws: `.notFound`, `.notDirectory`, and errors of a listing.
    package func resolve(_ path: String) async throws(EngineError) -> InodeNumber {
        let absence = EngineError(.notFound, "find \"\(path)\"")
        var inode = InodeNumber.root
        for part in path.utf8.split(separator: UInt8(ascii: "/")) {
            guard let name = FileName(Array(part)) else { throw absence }
            let parent = inode
            let found = try await retrying { () throws(Blocked) in try find(name, in: parent) }
            guard let found else { throw absence }
            inode = found.inode
        }
        return inode
    }

    func itemState(of inode: InodeNumber) throws(Blocked) -> ItemState {
        if transfer.progress.transfers.withLock({ $0[inode] != nil }) { return .uploading }
        let (record, isPending, isExcluded) = try store.readBriefly {
            (try $0.existingInode(inode), try $0.isPending(inode), try $0.isExcluded(inode))
        }
        if isExcluded { return .excluded }
        if isPending { return .dirty }
        if record.kind == .directory { return record.isListed ? .local : .remote }
        if record.kind == .symlink { return .local }
        if let file = local.files.existing(inode) {
            return ItemState(file.state.withLock(\.presence))
        }
        return record.size == 0 ? .local : ItemState(record.presence)
    }

    /// Returns the remote deletions at or below an inode that wait for a confirmation.
    package func heldDeletions(below inode: InodeNumber) throws(EngineError) -> HeldDeletions {
        try remote.deletions.held(below: inode)
    }
}

/// The activity in memory, captured before the database is read: the holder of a file's lock may
/// wait for a reader.
private struct ActivitySnapshot {
    private(set) var transfers: [InodeNumber: Transfer] = [:]
    /// Files that are open for writing.
    private(set) var openFiles: Set<InodeNumber> = []
    /// Those with changes since their last upload.
    private var changed: Set<InodeNumber> = []
    /// Files that are uploaded only once they are not written for a while, or closed.
    private(set) var awaitingPause: Set<InodeNumber> = []
    /// The number of local bytes of each file that is being fetched.
    private(set) var bytesHere: [InodeNumber: UInt64] = [:]
    private let request: SyncRequest?

    init(_ engine: Engine, _ request: SyncRequest? = nil) {
        self.request = request
        for file in engine.local.files.all {
            file.state.withLock { state in
                if state.isMarkedWriting { openFiles.insert(file.inode) }
                if state.isChanged { changed.insert(file.inode) }
                if engine.local.content.snapshots.awaitsPause(state) {
                    awaitingPause.insert(file.inode)
                }
                if state.isFetching { bytesHere[file.inode] = state.bytesHere }
            }
        }
        transfers = engine.transfer.progress.transfers.withLock { $0 }
    }

    /// Returns the state that a file would have after its close, if it is open for writing, without changes
    /// since its last upload, or since the request; nil otherwise.
    func openState(of inode: InodeNumber, _ database: Database) throws -> SyncState? {
        guard openFiles.contains(inode), var state = try database.syncState(of: inode) else {
            return nil
        }
        state.local?.isWriting = false
        if changed.contains(inode) || transfers[inode] != nil {
            guard let requested = request?.generations[inode],
                let sent = state.synced?.generation, sent >= requested
            else { return nil }
            state.local?.generation = sent
        }
        return state
    }
}
