import GRDB

extension Merge {
    /// Applies the deletions that a listing shows, unless there are so many at once that the user
    /// has to confirm them.
    ///
    /// - Parameter inodes: Few enough for one transaction.
    mutating func observeGone(_ inodes: [InodeNumber]) throws {
        // Deletions seen before are already decided; and the remote cannot delete an object that it
        // never had, or that it has lost and that is being recreated.
        let inodes = try database.agreed(among: inodes)
        guard !inodes.isEmpty else { return }
        let (hold, now) = (context.deletions, clock.uptime)
        let count = try hold.countRemote(inodes, at: now, database)
        let isHeld = try hold.holdsRemote(
            in: database.heldListings(of: inodes), at: now, database)
        if isHeld {
            context.logHeld(count)
        } else if count <= changes.removalsLeft {
            for inode in inodes { try observe(.gone, of: inode) }
            return
        }
        // Held deletions are not planned, unless the item was changed locally.
        try noteGone(inodes, isHeld: isHeld)
    }

    /// Merges one object of a listing.
    mutating func observe(_ object: RemoteObject, in directory: InodeNumber) throws {
        if let inode = try database.syncedInode(object.name, in: directory) {
            try observe(.object(object), of: inode)
        } else if let dirent = try database.dirent(object.name, in: directory) {
            // Both sides created this name. If the local inode comes from elsewhere on the remote,
            // its move detects the conflict.
            guard try !database.isSynced(dirent.inode) else { return }
            try observe(.object(object), of: dirent.inode)
        } else {
            try installNew([object], in: directory)
        }
    }

    /// Records the current remote state at an inode's place. Applies it at once if nothing was
    /// changed locally; otherwise it is stored and planned with the local change.
    mutating func observe(
        _ observation: RemoteObservation, of inode: InodeNumber
    ) throws {
        guard let record = try database.inode(inode) else { return }
        let isHeld = try database.isHeld(inode)
        if isHeld, observation == .gone { return }
        if isHeld { try enqueue([inode]) }
        if case .object(let object) = observation, let synced = try database.synced(inode),
            isAgreed(object, record, synced), try !database.isReturning(record)
        {
            try keepMark(of: object, inode, synced)
            try database.setRemote(nil, of: inode)
            try adoptAttributes(of: object, record)
            try noteRemoteModified(object, record)
            return
        }
        try database.setRemote(observation, of: inode)
        if try database.isPending(inode) || record.isWriting {
            try markPending(inode)
            return
        }
        guard let state = try database.syncState(of: inode) else { return }
        try applyLocally(Planner.plan(state), state)
    }

    /// Stores the more precise etag of a known version.
    private func keepMark(
        of object: RemoteObject, _ inode: InodeNumber, _ synced: SyncedRecord
    ) throws {
        guard !hasMark(of: object, synced) else { return }
        var synced = synced
        synced.etag = object.etag
        try database.setSynced(synced, of: inode)
    }

    private func hasMark(of object: RemoteObject, _ synced: SyncedRecord) -> Bool {
        object.kind != .file || synced.etag == object.etag
    }

    /// Whether ``observe(_:in:)`` would change nothing.
    func isUnchanged(_ object: RemoteObject, _ known: KnownObject) -> Bool {
        let (record, synced) = (known.record, known.synced)
        return isAgreed(object, record, synced) && hasMark(of: object, synced)
            && adopting(object, record, synced).synced == synced
            && !isModifiedLater(object, record, than: known.remoteModified)
    }

    /// Whether an object is the version that both sides agreed on.
    private func isAgreed(
        _ object: RemoteObject, _ record: InodeRecord, _ synced: SyncedRecord
    ) -> Bool {
        if !object.hasMetadata, object.kind == .file, record.kind == .symlink {
            // The listing does not distinguish the two; the etag does.
            return gate.isSame(synced.etag, as: object.etag)
        }
        guard object.kind == record.kind else { return false }
        return switch object.kind {
        case .file: gate.isSame(synced.etag, as: object.etag)
        case .directory: true
        case .symlink: object.target == record.target
        }
    }

    /// Discards the metadata of a version listed with a later time than known: it was written again
    /// with the same bytes, and unlisted metadata may have changed. The next access fetches it.
    private mutating func noteRemoteModified(
        _ object: RemoteObject, _ record: InodeRecord
    ) throws {
        let former = try database.remoteModified(record.id)
        guard isModifiedLater(object, record, than: former) else { return }
        try database.setRemoteModified(object.remoteModified, of: record.id)
        guard former != nil, try database.forgetMetadata(of: record.id) else { return }
        try database.record(.changed, on: .remote, record.id, at: clock.wallTime)
        changes.cacheChanges.append(.attributes(record.id))
    }

    private func isModifiedLater(
        _ object: RemoteObject, _ record: InodeRecord, than former: Timestamp?
    ) -> Bool {
        guard record.kind == .file, !object.hasMetadata, let modified = object.remoteModified else {
            return false
        }
        return former.map { modified > $0 } ?? true
    }

    /// Adopts remote attribute changes: the mode, if it is unchanged locally; extended attributes;
    /// and the time of a symbolic link, which has no etag that would show the change.
    mutating func adoptAttributes(
        of object: RemoteObject, _ record: InodeRecord
    ) throws {
        guard let former = try database.synced(record.id) else { return }
        var (record, synced) = adopting(object, record, former)
        guard synced != former else { return }
        synced.extendedAttributes = try database.adopt(
            synced.extendedAttributes, of: record.id, since: former.extendedAttributes)
        record.changed = clock.wallTime
        try database.update(record)
        try database.setSynced(synced, of: record.id)
        try database.record(.changed, on: .remote, record.id, at: record.changed)
        changes.cacheChanges.append(.attributes(record.id))
    }

    /// Returns both states with the adopted attributes, except the local extended attributes.
    private func adopting(
        _ object: RemoteObject, _ record: InodeRecord, _ synced: SyncedRecord
    ) -> (record: InodeRecord, synced: SyncedRecord) {
        var (record, synced) = (record, synced)
        guard object.kind == record.kind else { return (record, synced) }
        if record.kind == .symlink {
            // A coarse time may be the known one, rounded.
            guard gate.traits.hasFineTimes, record.modified == synced.modified else {
                return (record, synced)
            }
            (record.modified, synced.modified) = (object.modified, object.modified)
        } else {
            if let mode = object.mode, record.mode == synced.mode {
                (record.mode, synced.mode) = (mode, mode)
            }
            if let attributes = object.extendedAttributes { synced.extendedAttributes = attributes }
        }
        return (record, synced)
    }

    /// Stores the metadata of a known version, or merges another version.
    ///
    /// - Returns: Whether it was the known version.
    mutating func applyMetadata(
        _ object: RemoteObject, _ known: LookedAtRecord
    ) throws -> Bool {
        if known.record.hasMetadata { return true }
        var (record, synced) = (known.record, known.synced)
        let inode = record.id
        guard object.kind == record.kind, object.kind != .file || object.etag == synced.etag else {
            try observe(.object(object), of: inode)
            return false
        }
        let mode = object.mode ?? synced.mode
        // Local changes made meanwhile are kept.
        if record.mode == synced.mode { record.mode = mode }
        if record.modified == synced.modified {
            // If the store reports no time of a directory, its local change time is used.
            let isTold = object.kind != .directory || object.modified.nanoseconds != 0
            record.modified = isTold ? object.modified : record.changed
        }
        if (mode, object.modified) != (synced.mode, synced.modified) {
            record.changed = clock.wallTime
        }
        (synced.mode, synced.modified) = (mode, object.modified)
        synced.extendedAttributes = try database.adopt(
            object.extendedAttributes, of: inode, since: synced.extendedAttributes)
        record.hasMetadata = true
        try database.update(record, from: known.record)
        try database.setMetadata(synced, remoteModified: object.remoteModified, of: inode)
        if known.isObserved, try !database.isReturning(record) {
            try database.setRemote(nil, of: inode)
        }
        changes.cacheChanges.append(.attributes(inode))
        return true
    }
}
