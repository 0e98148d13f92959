import GRDB
import Synchronization

/// What is here, what is on the remote, and what lies between, at one moment.
package struct EngineStatus: Sendable {
    /// Names that the engine knows.
    package var itemCount: UInt64 = 0
    /// Bytes of files of which something is here.
    package var localBytes: UInt64 = 0
    package var pending = PendingSummary()
    /// Pending items, those that failed for good first, then those that failed, then the oldest, as
    /// many as were asked for.
    package var items: [PendingItem] = []
    /// Versions that lost their name to the remote's and are kept beside it, until somebody renames
    /// or removes them; as many as were asked for.
    package var conflicts: [PendingItem] = []
    /// Files whose bytes are being fetched and that are not among ``items``, in the order of their
    /// inodes; as many as were asked for.
    package var downloads: [PendingItem] = []
    /// How many files are being fetched.
    package var downloading: UInt64 = 0
    package var reachability = Reachability()
}

/// An item whose changes are not on the remote yet, or whose bytes are not all here.
package struct PendingItem: Sendable {
    package var inode: InodeNumber
    /// From the mount point on, without a leading slash.
    package var path: String
    package var state: ItemState
    /// What is happening on the remote right now.
    package var transfer: Transfer?
    package var size: UInt64
    /// How many of its bytes are here, while others are being fetched.
    package var bytesHere: UInt64?
    package var attempts: Int
    package var failure: SyncFailure?
    /// When it is tried again, where that failed and is known.
    package var retry: Timestamp?
    package var since: Timestamp
    /// Of a conflict, the path of the remote's version.
    package var counterpart: String?
    /// Where it points, of a symbolic link.
    package var link: SymbolicLink?
}

extension Engine {
    /// - Parameters:
    ///   - inode: Only what lies at or below it is counted among the pending.
    ///   - limit: How many items are told at the most.
    package func status(below inode: InodeNumber, limit: Int) throws(EngineError) -> EngineStatus {
        do throws(Halt) {
            let snapshot = ActivitySnapshot(self)
            var status = try store.read { database in
                var status = EngineStatus()
                status.itemCount = try database.direntCount()
                status.localBytes = try database.presentBytes() + snapshot.bytesUnstored
                status.pending = try pendingSummary(below: inode, snapshot, database)
                status.items = try database.pending(below: inode, limit: limit)
                    .map { try item($0, snapshot, database) }
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
                let fetched = try snapshot.bytesHere.keys.sorted()
                    .filter { try database.isBelow(inode, $0) }
                status.downloading = UInt64(fetched.count)
                let shown = Set(status.items.map(\.inode))
                status.downloads = try fetched.filter { !shown.contains($0) }.prefix(limit)
                    .map { try unmarked($0, snapshot, database) }
                return status
            }
            status.reachability = reachability.withLock { $0 }
            return status
        } catch {
            throw error.failure
        }
    }

    /// One item, whether it is pending or not.
    package func item(_ inode: InodeNumber) throws(EngineError) -> PendingItem {
        do throws(Halt) {
            let state = try itemState(of: inode)
            let snapshot = ActivitySnapshot(self)
            return try store.read { database in
                var item = try unmarked(inode, snapshot, database)
                item.state = state
                return item
            }
        } catch {
            throw error.failure
        }
    }

    /// The version of a file that both sides last agreed on; nil while the remote has none.
    package func agreedVersion(of inode: InodeNumber) throws(Halt) -> ETag? {
        try store.read { try $0.synced(inode)?.etag }
    }

    private func pendingSummary(
        below inode: InodeNumber, _ snapshot: ActivitySnapshot, _ database: Database
    ) throws -> PendingSummary {
        var summary = try database.pendingSummary(below: inode)
        summary.transferring = UInt64(
            try snapshot.transfers.keys.count { try database.isPending($0, below: inode) })
        summary.openAndSent = UInt64(
            try snapshot.openUnchanged.count { file in
                let sent = try database.synced(file)?.generation
                return try snapshot.transfers[file] == nil
                    && sent == database.inode(file)?.generation
                    && database.isPending(file, below: inode)
            })
        return summary
    }

    /// One item that need not be pending.
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
            : isPending ? .dirty : bytesHere != nil ? .partial : ItemState(record?.presence)
        return PendingItem(
            inode: pending.inode,
            path: ObjectKey(try database.path(of: pending.inode)).description,
            state: state, transfer: transfer, size: record?.size ?? 0, bytesHere: bytesHere,
            attempts: pending.attempts, failure: pending.failure,
            retry: pending.failure?.isPassing == true ? retryTime(of: pending.inode) : nil,
            since: pending.since,
            link: try record.flatMap { try symbolicLink($0, database) })
    }

    private func retryTime(of inode: InodeNumber) -> Timestamp? {
        guard let delay = retryDelay(of: inode) else { return nil }
        // To a second: as long as nothing changes, a status stays the same.
        let (seconds, attoseconds) = delay.components
        let part = clock.wallTime.nanoseconds + attoseconds / 1_000_000_000
        return Timestamp(seconds: part / 1_000_000_000 + seconds)
    }

    /// How long it takes until an inode that failed is tried again, where that is known.
    func retryDelay(of inode: InodeNumber) -> Duration? {
        queue.withLock { $0.due(inode) }.map { max(.zero, $0 - clock.uptime) }
    }

    /// How often something that ``status(below:limit:)`` shows has changed.
    package var changeCount: UInt64 { changeBell.rings }

    /// Returns once ``changeCount`` is over `count`, or the task is cancelled.
    package func waitForChange(after count: UInt64) async {
        await changeBell.wait(after: count)
    }

    /// Bytes that uploads have sent since the start, each once.
    package var bytesSent: UInt64 { sentBytes.withLock(\.total) }

    /// Makes everything at or below an inode due now: no settle time, no waiting after a failure.
    package func hasten(below inode: InodeNumber) throws(EngineError) {
        do throws(Halt) {
            let pending = try store.write { database in
                let pending = try database.pending(below: inode, limit: .max)
                for record in pending where record.failure != nil {
                    try database.setFailure(nil, attempts: record.attempts, of: record.inode)
                }
                return pending.map(\.inode)
            }
            for inode in pending {
                // What stays open for writing is sent as it is now.
                files.existing(inode)?.state.withLock { $0.longWriterDue = clock.uptime }
                enqueue(inode, after: .zero)
            }
        } catch {
            throw error.failure
        }
    }

    /// The inode of a path from the mount point on.
    ///
    /// - Throws: `.notFound`, `.notDirectory`, and what a listing throws.
    package func resolve(_ path: String) async throws(EngineError) -> InodeNumber {
        var inode = InodeNumber.root
        for part in path.utf8.split(separator: UInt8(ascii: "/")) {
            guard let name = FileName(Array(part)) else {
                throw EngineError(.notFound, "find \"\(path)\"")
            }
            let parent = inode
            inode = try await completing { () throws(Halt) in try lookup(name, in: parent).inode }
        }
        return inode
    }
}

/// What is going on in memory, taken before the database is read: whoever holds a file's lock may
/// wait for a reader.
private struct ActivitySnapshot {
    let transfers: [InodeNumber: Transfer]
    /// Files that are open for writing, with nothing written since they were last sent.
    let openUnchanged: [InodeNumber]
    /// How much is here of the files that are being fetched.
    let bytesHere: [InodeNumber: UInt64]
    /// Bytes that are here of files of which the database knows none, as they are stored when the
    /// file is closed.
    let bytesUnstored: UInt64

    init(_ engine: Engine) {
        var openUnchanged: [InodeNumber] = []
        var bytesHere: [InodeNumber: UInt64] = [:]
        var bytesUnstored: UInt64 = 0
        for file in engine.files.all {
            file.state.withLock { state in
                if state.isMarkedWriting, !state.isChanged { openUnchanged.append(file.inode) }
                if state.isFetching { bytesHere[file.inode] = state.bytesHere }
                if state.stored == .remote { bytesUnstored += state.bytesHere }
            }
        }
        (self.openUnchanged, self.bytesHere) = (openUnchanged, bytesHere)
        self.bytesUnstored = bytesUnstored
        transfers = engine.transfers.withLock { $0 }
    }
}
