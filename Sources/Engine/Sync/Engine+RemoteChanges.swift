import GRDB
import Logging
import Synchronization

// What the remote did, done here. All of it happens inside the caller's transaction.

extension Engine {
    /// Carries out a plan that changes this side only.
    func applyLocally(
        _ operation: SyncOperation, _ state: SyncState, _ changes: inout RemoteChanges,
        _ database: Database
    ) throws {
        switch operation {
        case .takeRemote(let object):
            try takeRemote(object, state, &changes, database)
        case .removeLocal, .createAnew:
            switch try vanish(state.inode, &changes, database) {
            case nil: try goOnLater(state.inode, &changes, database)
            case .awaits(let writing): changes.awaited = writing
            case .nothing, .kept: break
            }
        case .forget:
            try orphanChildren(of: state.inode, &changes, database)
            try database.removeSynced(state.inode)
            try database.removePending(state.inode)
            changes.unlinked.append(state.inode)
            changes.removalsLeft -= 1
        default:
            try database.markPending(state.inode, at: clock.wallTime)
            changes.pending.append(state.inode)
        }
    }

    /// Takes those along that the remote has deleted too: a transaction for each of very many would
    /// take very long.
    func applyDeletions(
        after inode: InodeNumber, _ changes: inout RemoteChanges, _ database: Database
    ) throws {
        guard changes.removalsLeft > 0 else { return }
        // What others wait for is no matter of this inode's.
        let awaited = changes.awaited
        defer { changes.awaited = awaited }
        for other in try database.goneInodes(after: inode, limit: changes.removalsLeft) {
            guard changes.removalsLeft > 0 else { return }
            guard let state = try syncState(of: other, database) else { continue }
            let plan = Planner.plan(state)
            guard plan == .removeLocal || plan == .forget else { continue }
            try applyLocally(plan, state, &changes, database)
            if try !database.isPending(other) { changes.settled.append(other) }
        }
    }

    /// Leaves the rest of a plan to another transaction.
    private func goOnLater(
        _ inode: InodeNumber, _ changes: inout RemoteChanges, _ database: Database
    ) throws {
        try database.markPending(inode, at: clock.wallTime)
        changes.pending.append(inode)
    }

    /// Gives an object of the remote an inode and a name here. A local inode of that name keeps
    /// its content under the name of a conflict.
    func install(
        _ object: RemoteObject, in directory: InodeNumber, _ changes: inout RemoteChanges,
        _ database: Database
    ) throws {
        if let dirent = try database.dirent(object.name, in: directory) {
            try displace(dirent, &changes, database)
        }
        let inode = try insert(object, in: directory, database)
        try database.insertDirent(object.name, in: directory, to: inode, at: inode.changed)
        changes.cacheChanges += [.name(object.name, directory), .inode(directory)]
    }

    /// Stores a new inode for an object, in agreement with the remote and without a name.
    ///
    /// - Parameter former: What both sides agreed on before, whose mode and extended attributes it has
    ///   where the remote does not tell.
    private func insert(
        _ object: RemoteObject, in directory: InodeNumber, after former: SyncedRecord? = nil,
        _ database: Database
    ) throws -> InodeRecord {
        var defaultMode =
            object.kind == .directory ? configuration.directoryMode : configuration.fileMode
        if !object.isDetailed, let former { defaultMode = former.mode }
        var inode = InodeRecord(
            kind: object.kind, mode: (object.mode ?? defaultMode) & 0o7777,
            owner: configuration.owner,
            size: object.kind == .symlink ? UInt64(object.target?.count ?? 0) : object.size,
            modified: object.modified, changed: clock.wallTime, target: object.target)
        if object.kind == .symlink { inode.mode = 0o777 }
        inode.isDetailed = object.isDetailed
        try database.insert(&inode)
        let extendedAttributes =
            object.extendedAttributes ?? former?.extendedAttributes ?? ExtendedAttributes()
        try database.setExtendedAttributes(extendedAttributes, of: inode.id)
        try database.setSynced(
            SyncedRecord(
                parent: directory, name: object.name, etag: object.etag, size: object.size,
                mode: inode.mode, modified: inode.modified, generation: 0,
                extendedAttributes: extendedAttributes),
            of: inode.id)
        try setWritten(object, of: inode.id, database)
        return inode
    }

    /// Notes until when an object that was seen tells of changes. What was kept in `remote` does not
    /// say: then the next listing tells of others.
    func setWritten(
        _ object: RemoteObject, of inode: InodeNumber, _ database: Database
    ) throws {
        guard !provider.traits.listsDetails, object.kind == .file else { return }
        let isLookedAt = object.isDetailed && object.written == nil
        try database.setWritten(
            isLookedAt ? Timestamp(nanoseconds: 0) : object.written, of: inode)
    }

    /// A changed object is a new inode under the old name: open handles keep the version they have.
    private func takeRemote(
        _ object: RemoteObject, _ state: SyncState, _ changes: inout RemoteChanges,
        _ database: Database
    ) throws {
        guard let synced = state.synced else { return }
        var object = object
        object.name = synced.name
        if state.kind == .directory {
            switch try vanish(state.inode, &changes, database) {
            case nil: return try goOnLater(state.inode, &changes, database)
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
            // It was deleted here, or is of another kind there: the remote's comes to its place.
            if try database.dirent(of: state.inode) == nil {
                try database.removePending(state.inode)
                changes.unlinked.append(state.inode)
            }
            try revive(synced.parent, &changes, database)
            return try install(object, in: synced.parent, &changes, database)
        }
        try database.removePending(state.inode)
        record.links = 0
        try database.update(record)
        changes.unlinked.append(state.inode)
        let isSameKind = object.kind == record.kind
        var inode = try insert(
            object, in: synced.parent, after: isSameKind ? synced : nil, database)
        // What was changed here, and is not sent yet, stays changed.
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
        changes.cacheChanges += [.name(dirent.name, dirent.parent), .inode(dirent.parent)]
        if isModeChanged || areAttributesChanged || dirent.parent != synced.parent
            || dirent.name != synced.name
        {
            // It was renamed or given other attributes here; that still has to go out.
            try database.markPending(inode.id, at: clock.wallTime)
            changes.pending.append(inode.id)
        }
    }

    /// Gives a removed directory its name back, and those above it: there is something in it that
    /// nobody here has seen.
    func revive(
        _ directory: InodeNumber, _ changes: inout RemoteChanges, _ database: Database
    ) throws {
        guard var record = try database.inode(directory), record.links == 0,
            let synced = try database.synced(directory)
        else { return }
        try revive(synced.parent, &changes, database)
        var (parent, name) = (synced.parent, synced.name)
        if try database.isAside(directory, at: synced) {
            // Somebody else has its place by now.
            let path = try database.formerPath(of: directory, at: synced) ?? []
            parent = try database.directory(at: path.dropLast()) ?? .root
            let former =
                try database.conflictOriginal(of: directory) ?? path.last
                ?? FileName(stored: Array("directory".utf8))
            name = try freeConflictName(of: former, in: parent, database)
            try database.markPending(directory, at: clock.wallTime)
        } else if let holder = try database.dirent(name, in: parent) {
            try displace(holder, &changes, database)
        }
        record.links = 2
        record.isListed = false
        try database.update(record)
        try database.insertDirent(name, in: parent, to: record, at: clock.wallTime)
        changes.cacheChanges += [.name(name, parent), .inode(parent)]
        changes.pending.append(directory)
    }

    /// The remote no longer has an inode, nor anything below it: what is unchanged here goes, what
    /// was changed here stays and is created anew.
    ///
    /// - Returns: What stays of it; nil where it is too much for one transaction: some of what is
    ///   below it is gone then, and the next call goes on.
    private func vanish(
        _ inode: InodeNumber, _ changes: inout RemoteChanges, _ database: Database
    ) throws -> Remainder? {
        guard let record = try database.inode(inode) else { return .nothing }
        guard changes.removalsLeft > 0 else { return nil }
        let isKept = try syncState(of: inode, database).map(Planner.keepsWhenGone) ?? false
        var remainder: Remainder = isKept ? .kept : .nothing
        if record.kind == .directory {
            guard let below = try vanishBelow(inode, &changes, database) else { return nil }
            remainder.add(below)
        }
        if case .awaits = remainder {
            if try !database.isObserved(inode) { try database.setRemote(.gone, of: inode) }
            if try !database.isPending(inode) { try goOnLater(inode, &changes, database) }
            return remainder
        }
        // Not before, so that a way down into very deep directories leaves something for the end.
        changes.removalsLeft -= 1
        try database.removeSynced(inode)
        if remainder == .kept {
            try database.markPending(inode, at: clock.wallTime)
            changes.pending.append(inode)
        } else {
            try removeLocally(inode, kind: record.kind, &changes, database)
        }
        return remainder
    }

    /// The remote no longer has anything of what it had in a directory.
    private func vanishBelow(
        _ directory: InodeNumber, _ changes: inout RemoteChanges, _ database: Database
    ) throws -> Remainder? {
        var remainder = Remainder.nothing
        var cookie: Int64 = 0
        while true {
            let limit = changes.removalsLeft + 1
            let children = try database.agreedChildren(of: directory, after: cookie, limit: limit)
            for (_, child) in children {
                if try leaveToWriter(child, database) {
                    remainder.add(.awaits(child))
                } else {
                    guard let below = try vanish(child, &changes, database) else { return nil }
                    remainder.add(below)
                }
            }
            guard children.count == limit, let last = children.last else { break }
            cookie = last.cookie
        }
        try orphanChildren(of: directory, &changes, database)
        // What was made in it, and what came from elsewhere and is still there.
        if try database.hasOwnDirents(directory) { remainder.add(.kept) }
        return remainder
    }

    /// Whether a file, unchanged so far, is left alone as long as it is open for writing: it may
    /// not be all here, and to make it anew would take bytes that nobody has. That it is gone is
    /// noted, and its writer's end decides. What the remote comes to have there is another version.
    private func leaveToWriter(_ inode: InodeNumber, _ database: Database) throws -> Bool {
        guard let record = try database.inode(inode), record.kind == .file, record.isWriting,
            var synced = try database.synced(inode), synced.generation == record.generation,
            try database.attempt(of: inode) == nil
        else { return false }
        if synced.etag != nil {
            synced.etag = nil
            try database.setSynced(synced, of: inode)
        }
        return true
    }

    /// What the remote had in a directory that is gone, and has no name in it here, is gone too.
    private func orphanChildren(
        of directory: InodeNumber, _ changes: inout RemoteChanges, _ database: Database
    ) throws {
        let orphans = try database.syncedChildren(of: directory).map(\.inode)
        _ = try database.noteGone(orphans, isHeld: false, at: clock.wallTime)
        changes.pending += orphans
    }

    private func removeLocally(
        _ inode: InodeNumber, kind: FileKind, _ changes: inout RemoteChanges, _ database: Database
    ) throws {
        if let dirent = try database.dirent(of: inode) {
            try database.removeDirent(dirent, kind: kind, at: clock.wallTime)
            changes.cacheChanges += [.name(dirent.name, dirent.parent), .inode(dirent.parent)]
            if kind == .file { try discard(inode, dirent.name, &changes, database) }
        }
        var record = try database.existingInode(inode)
        record.links = 0
        try database.update(record)
        try database.removePending(inode)
        changes.unlinked.append(inode)
    }

    /// Renames a local inode out of the way of the remote's: `name (conflict HOST YYYY-MM-DD).ext`,
    /// with another number where the remote has that too.
    func displace(
        _ dirent: Dirent, _ changes: inout RemoteChanges, _ database: Database
    ) throws {
        let inode = try database.existingInode(dirent.inode)
        let now = clock.wallTime
        let former = try database.conflictOriginal(of: inode.id)
        let name = try freeConflictName(of: former ?? dirent.name, in: dirent.parent, database)
        conflictNames.withLock { names in
            names[inode.id] = 1 + (former == nil ? 0 : names[inode.id] ?? 0)
        }
        try database.removeDirent(dirent, kind: inode.kind, at: now)
        try database.insertDirent(name, in: dirent.parent, to: inode, at: now)
        try database.markPending(inode.id, at: now)
        try database.noteConflict(inode.id, original: dirent.name, at: now)
        changes.cacheChanges += [.name(dirent.name, dirent.parent), .name(name, dirent.parent)]
        changes.pending.append(inode.id)
        logger.warning(
            "conflict kept beside",
            metadata: ["inode": "\(inode.id)", "name": "\(dirent.name)", "as": "\(name)"])
    }

    /// Whether an inode has got so many names of conflicts, none of which was free on the remote, that
    /// no other is tried: a remote may say that it has whatever it is asked for.
    func isOutOfNames(_ inode: InodeNumber, _ database: Database) throws -> Bool {
        let count = conflictNames.withLock { $0[inode] ?? 0 }
        return try count >= Self.conflictNamesMax && database.conflictOriginal(of: inode) != nil
    }

    static var conflictNamesMax: Int { 5 }

    private func freeConflictName(
        of name: FileName, in directory: InodeNumber, _ database: Database
    ) throws -> FileName {
        var attempt = 0
        while true {
            let candidate = ConflictName.make(
                of: name, host: configuration.hostName, at: clock.wallTime, attempt: attempt)
            if try database.dirent(candidate, in: directory) == nil { return candidate }
            attempt += 1
        }
    }
}

/// What stays here of something that the remote no longer has.
private enum Remainder: Equatable {
    case nothing
    /// It goes, unless this file below it, which is open for writing, is changed.
    case awaits(InodeNumber)
    /// Something that was made or changed here, for which it is created anew.
    case kept

    mutating func add(_ other: Remainder) {
        switch (self, other) {
        case (.nothing, _), (.awaits, .kept): self = other
        case (.awaits, _), (.kept, _): break
        }
    }
}
