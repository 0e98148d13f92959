import GRDB
import Logging
import Synchronization

// What a listing does not tell, and only a look at the object itself does: its mode, its exact
// time, whether it is a symbolic link. It is asked for when somebody looks at the inode, in the
// background, and never for a whole directory.

extension Engine {
    /// How many inodes wait at the most; of more, nobody looks at all.
    private static var detailsMax: Int { 1_024 }
    /// How many looks are under way at a time.
    private static var looksMax: Int { 8 }

    /// Somebody looks at an inode of which not all is known.
    func noteInterest(in record: InodeRecord) {
        guard !record.isDetailed else { return }
        let isNew = detailQueue.withLock { queue in
            guard queue.count < Self.detailsMax, !queue.contains(record.id) else { return false }
            queue.append(record.id)
            return true
        }
        if isNew { detailBell.ring() }
    }

    func runDetailer() async {
        while !Task.isCancelled {
            let rings = detailBell.rings
            let inodes = detailQueue.withLock { queue in
                let first = Array(queue.prefix(Self.looksMax))
                queue.removeFirst(first.count)
                return first
            }
            if inodes.isEmpty || isPaused {
                await detailBell.wait(after: rings)
                continue
            }
            await withDiscardingTaskGroup { group in
                for inode in inodes { group.addTask { await self.fetchDetails(of: inode) } }
            }
        }
    }

    private func fetchDetails(of inode: InodeNumber) async {
        do {
            let place = try store.read { database -> (ObjectKey, SyncedRecord)? in
                guard let record = try database.inode(inode), !record.isDetailed,
                    let synced = try database.synced(inode),
                    let key = try database.remoteKey(of: inode)
                else { return nil }
                return (key, synced)
            }
            guard let (key, synced) = place else { return }
            let object = try await provider.stat(key)
            noteReachable()
            try finish(
                try store.write { database in
                    var changes = RemoteChanges()
                    // Our own change may have come in between.
                    guard try database.synced(inode) == synced,
                        try database.uncertainInode(atOrAbove: inode) == nil,
                        !activity.isClaimed(key)
                    else { return changes }
                    try takeDetails(object, synced, of: inode, &changes, database)
                    return changes
                })
        } catch {
            // Whoever looks again asks again.
            if let error = error as? ProviderError { noteFailure(error) }
            logger.debug(
                "details not found", metadata: ["inode": "\(inode)", "reason": "\(error)"])
        }
    }

    private func takeDetails(
        _ object: RemoteObject, _ synced: SyncedRecord, of inode: InodeNumber,
        _ changes: inout RemoteChanges, _ database: Database
    ) throws {
        guard var record = try database.inode(inode), !record.isDetailed else { return }
        guard object.kind == record.kind, object.kind != .file || object.etag == synced.etag else {
            return try observe(.object(object), of: inode, &changes, database)
        }
        var synced = synced
        let mode = object.mode ?? synced.mode
        // What was changed here meanwhile stays changed.
        if record.mode == synced.mode { record.mode = mode }
        if record.modified == synced.modified { record.modified = object.modified }
        (synced.mode, synced.modified) = (mode, object.modified)
        record.isDetailed = true
        try database.update(record)
        try database.setSynced(synced, of: inode)
        changes.cacheChanges.append(.inode(inode))
    }
}
