import GRDB

extension Merge {
    /// Carries out a plan that changes the local side only.
    mutating func applyLocally(_ operation: SyncOperation, _ state: SyncState) throws {
        switch operation {
        case .acceptRemote(let object):
            let writer =
                state.local == nil || state.kind == .directory
                ? try database.writer(inPlaceOf: state) : nil
            guard let writer else { return try acceptRemote(object, state) }
            changes.awaited = writer
        case .removeLocal, .createAnew:
            switch try applyRemoteDeletion(state.inode) {
            // The rest is left to another transaction.
            case nil: try markPending(state.inode)
            case .awaits(let writing): changes.awaited = writing
            case .nothing, .kept: break
            }
        case .forget:
            try orphanChildren(of: state.inode)
            try database.removeSynced(state.inode)
            try removePending(state.inode)
            changes.unlinked.append(state.inode)
            changes.removalsLeft -= 1
        default:
            try markPending(state.inode)
        }
    }

    /// Gives a remote object a local inode and name. A local inode of that name keeps its content
    /// under a conflict name.
    mutating func install(_ object: RemoteObject, in directory: InodeNumber) throws {
        let former = try database.dirent(object.name, in: directory)
        if let former { try displace(former) }
        try installNew([object], in: directory)
        try pinBesideConflict(object.name, in: directory)
        if former != nil, directory == firstListed {
            changes.cacheChanges += [.name(object.name, directory), .inode(directory)]
        }
    }

    /// Pins the version that has a name if one that was displaced from it is pinned itself: the user meant
    /// the file of that name.
    private func pinBesideConflict(_ name: FileName, in directory: InodeNumber) throws {
        guard try database.hasPins(), let dirent = try database.dirent(name, in: directory),
            try database.conflicts(with: dirent).contains(where: { try database.isPin($0.inode) })
        else { return }
        try database.insertPin(dirent.inode)
    }

    /// Gives remote objects local inodes, and their names, which no local inodes have.
    mutating func installNew(_ objects: [RemoteObject], in directory: InodeNumber) throws {
        // The first listing of a directory shows what was there before, unless both sides made it.
        let side: RecordedChange.Side? =
            directory == firstListed && !wasFirstMadeHere ? nil : .remote
        if objects.allSatisfy(PackedObjects.canPack) {
            try installPacked(objects, in: directory, on: side)
        } else {
            try installPacked(objects.filter(PackedObjects.canPack), in: directory, on: side)
            for object in objects where !PackedObjects.canPack(object) {
                let inode = try insert(object, in: directory)
                try database.insertDirent(
                    object.name, in: directory, to: inode, on: side,
                    at: clock.wallTime)
            }
        }
        newNames += objects.count
        if objects.isEmpty || directory == firstListed { return }
        changes.cacheChanges += objects.map { .name($0.name, directory) } + [.inode(directory)]
    }

    private mutating func installPacked(
        _ objects: [RemoteObject], in directory: InodeNumber, on side: RecordedChange.Side?
    ) throws {
        if objects.isEmpty { return }
        var packed = PackedObjects(capacity: objects.count)
        for object in objects {
            packed.append(
                object, mode: mode(of: object), remoteModified: context.remoteModified(object))
        }
        let now = clock.wallTime
        let first = try database.insertInodes(
            packed, in: directory, owner: configuration.owner, at: now)
        try database.insertDirents(
            packed, in: directory, from: first,
            directories: objects.count { $0.kind == .directory }, at: now)
        guard let side, try database.isRecorded else { return }
        for object in objects {
            try database.record(
                .created, on: side, object.name, in: directory, at: now)
        }
    }

    private func mode(of object: RemoteObject) -> UInt16 {
        let mode =
            object.kind == .directory ? configuration.directoryMode : configuration.fileMode
        return (object.mode ?? mode) & 0o7777
    }

    /// Stores a new nameless inode for an object, in agreement with the remote.
    ///
    /// - Parameter former: The previously agreed state. Supplies the mode and extended attributes
    ///   that the remote does not report.
    private func insert(
        _ object: RemoteObject, in directory: InodeNumber, after former: SyncedRecord? = nil
    ) throws -> InodeRecord {
        var defaultMode =
            object.kind == .directory ? configuration.directoryMode : configuration.fileMode
        if !object.hasMetadata, let former { defaultMode = former.mode }
        var inode = InodeRecord(
            kind: object.kind, mode: (object.mode ?? defaultMode) & 0o7777,
            owner: configuration.owner,
            size: object.kind == .symlink ? UInt64(object.target?.count ?? 0) : object.size,
            modified: object.modified, changed: clock.wallTime, target: object.target)
        if object.kind == .symlink { inode.mode = 0o777 }
        inode.hasMetadata = object.hasMetadata
        try database.insert(&inode)
        let extendedAttributes =
            object.extendedAttributes ?? former?.extendedAttributes ?? ExtendedAttributes()
        if !extendedAttributes.isEmpty {
            try database.setExtendedAttributes(extendedAttributes, of: inode.id)
        }
        try database.insertSynced(
            SyncedRecord(
                parent: directory, name: object.name, etag: object.etag, size: object.size,
                mode: inode.mode, modified: inode.modified, generation: 0,
                extendedAttributes: extendedAttributes),
            of: inode.id)
        try context.setRemoteModified(object, of: inode.id, in: database)
        return inode
    }

    /// Replaces a changed object by a new inode under the old name: open handles keep their
    /// version.
    private mutating func acceptRemote(
        _ object: RemoteObject, _ state: SyncState
    ) throws {
        guard let synced = state.synced else { return }
        var object = object
        object.name = synced.name
        if state.kind == .directory {
            switch try applyRemoteDeletion(state.inode) {
            case nil: return try markPending(state.inode)
            case .awaits(let writing):
                changes.awaited = writing
                return
            case .nothing, .kept: break
            }
        }
        try database.removeSynced(state.inode)
        guard state.kind != .directory, let dirent = try database.dirent(of: state.inode),
            var record = try database.inode(state.inode)
        else {
            // Deleted locally, or of another kind on the remote: the remote object takes its place.
            if try database.dirent(of: state.inode) == nil {
                try removePending(state.inode)
                changes.unlinked.append(state.inode)
            }
            try restore(synced.parent)
            return try install(object, in: synced.parent)
        }
        try removePending(state.inode)
        record.links = 0
        try database.update(record)
        changes.unlinked.append(state.inode)
        let isSameKind = object.kind == record.kind
        var inode = try insert(
            object, in: synced.parent, after: isSameKind ? synced : nil)
        // Unsent local changes are kept.
        let isModeChanged = record.mode != synced.mode && isSameKind
        if isModeChanged {
            inode.mode = record.mode
            try database.update(inode)
        }
        let ours = try database.extendedAttributes(of: record.id)
        let areAttributesChanged = ours != synced.extendedAttributes && isSameKind
        if areAttributesChanged {
            let theirs = object.extendedAttributes ?? synced.extendedAttributes
            try database.setExtendedAttributes(
                ours.rebased(from: synced.extendedAttributes, onto: theirs), of: inode.id)
        }
        try database.redirect(dirent, from: record.kind, to: inode, at: inode.changed)
        try database.passPin(from: record.id, to: inode.id)
        changes.cacheChanges += [.name(dirent.name, dirent.parent), .inode(dirent.parent)]
        if isModeChanged || areAttributesChanged || dirent.parent != synced.parent
            || dirent.name != synced.name
        {
            // A local rename or attribute change still has to be sent.
            try markPending(inode.id)
        }
    }
}
