import GRDB
import Logging
import Synchronization

// What a listing does not tell, and only a look at the object itself does: its mode, its exact
// time, its extended attributes, whether it is a symbolic link. It is asked for when somebody looks
// at the inode, in the background, and never for a whole directory. Who asks for the extended
// attributes, or changes them, waits for it.

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
            let inodes = isPaused ? [] : nextOfInterest()
            if inodes.isEmpty {
                await detailBell.wait(after: rings)
                continue
            }
            await withDiscardingTaskGroup { group in
                for inode in inodes { group.addTask { await self.fetchDetails(of: inode) } }
            }
        }
    }

    private func nextOfInterest() -> [InodeNumber] {
        detailQueue.withLock { queue in
            let first = Array(queue.prefix(Self.looksMax))
            queue.removeFirst(first.count)
            return first
        }
    }

    private func fetchDetails(of inode: InodeNumber) async {
        do throws(ProviderError) {
            _ = try await lookAtDetails(of: inode)
        } catch {
            // Whoever looks again asks again.
            logger.debug(
                "details not found", metadata: ["inode": "\(inode)", "reason": "\(error)"])
        }
    }

    /// Whether the remote may know more of an inode than is known here, of what is sent as a whole.
    func lacksDetails(_ record: InodeRecord, _ database: Database) throws -> Bool {
        guard !record.isDetailed, provider.traits.extendedAttributes != nil,
            let synced = try database.synced(record.id)
        else { return false }
        // Where the remote has something else by now, what it had is not to be known any more.
        return try database.remote(record.id, name: synced.name) == nil
    }

    /// Asks for what the listing did not tell of an inode.
    ///
    /// - Returns: Whether all is known that can be; false where a change of ours came in between.
    /// - Throws: `.missing` where it is gone; `.busy` where our own change is on its way.
    func lookAtDetails(of inode: InodeNumber) async throws(ProviderError) -> Bool {
        let place = try engineWork { () throws(Halt) in
            try store.read { database -> (ObjectKey, SyncedRecord)? in
                guard let record = try database.inode(inode), !record.isDetailed,
                    let synced = try database.synced(inode),
                    let key = try database.remoteKey(of: inode)
                else { return nil }
                return (key, synced)
            }
        }
        guard let (key, synced) = place else { return true }
        let object = try await detailed(inode, at: key, synced)
        return try engineWork { () throws(Halt) in
            let changes = try store.write { database -> RemoteChanges? in
                // Something else may be there since a directory above it has moved.
                guard try database.synced(inode) == synced,
                    try database.remoteKey(of: inode) == key,
                    try database.uncertainInode(atOrAbove: inode) == nil,
                    !activity.isClaimed(key)
                else { return nil }
                var changes = RemoteChanges()
                try takeDetails(object, synced, of: inode, &changes, database)
                return changes
            }
            guard let changes else { return false }
            try finish(changes)
            return true
        }
    }

    private func detailed(
        _ inode: InodeNumber, at key: ObjectKey, _ synced: SyncedRecord
    ) async throws(ProviderError) -> RemoteObject {
        do throws(ProviderError) {
            let object = try await provider.stat(key)
            noteReachable()
            return object
        } catch {
            noteFailure(error)
            guard error.kind == .missing || error.kind == .wrongKind else { throw error }
            let isOurs = try engineWork { () throws(Halt) in
                guard try isOutdated(inode, askedAt: key, etag: synced.etag) else { return false }
                try settleDoubt(atOrAbove: inode)
                return true
            }
            if isOurs { throw ProviderError(outdated: error) }
            // What became of it, the directory's listing tells.
            await refreshQuietly(synced.parent)
            throw error
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
        synced.extendedAttributes = try database.adopt(
            object.extendedAttributes, of: inode, since: synced.extendedAttributes)
        record.isDetailed = true
        try database.update(record)
        try database.setSynced(synced, of: inode)
        changes.cacheChanges.append(.inode(inode))
    }
}
