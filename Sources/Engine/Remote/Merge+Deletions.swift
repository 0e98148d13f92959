import GRDB

extension Merge {
    /// Takes those along that the remote has deleted too: a transaction for each of very many would
    /// take very long.
    mutating func applyDeletions(
        after inode: InodeNumber
    ) throws {
        guard changes.removalsLeft > 0 else { return }
        // What others wait for is no matter of this inode's.
        let awaited = changes.awaited
        defer { changes.awaited = awaited }
        for other in try database.goneInodes(after: inode, limit: changes.removalsLeft) {
            guard changes.removalsLeft > 0 else { return }
            guard let state = try database.syncState(of: other) else { continue }
            let plan = Planner.plan(state)
            guard plan == .removeLocal || plan == .forget else { continue }
            try applyLocally(plan, state)
            if try !database.isPending(other) { changes.settled.append(other) }
        }
    }

    /// Leaves the rest of a plan to another transaction.
    mutating func goOnLater(
        _ inode: InodeNumber
    ) throws {
        try database.markPending(inode, at: clock.wallTime)
        changes.pending.append(inode)
    }

    /// The remote no longer has an inode, nor anything below it: what is unchanged here goes, what
    /// was changed here stays and is created anew.
    ///
    /// - Returns: What stays of it; nil where it is too much for one transaction: some of what is
    ///   below it is gone then, and the next call goes on.
    mutating func vanish(
        _ inode: InodeNumber
    ) throws -> Remainder? {
        guard let record = try database.inode(inode) else { return .nothing }
        guard changes.removalsLeft > 0 else { return nil }
        let isKept = try database.syncState(of: inode).map(Planner.keepsWhenGone) ?? false
        var remainder: Remainder = isKept ? .kept : .nothing
        if record.kind == .directory {
            guard let below = try vanishBelow(inode) else { return nil }
            remainder.add(below)
        }
        if case .awaits = remainder {
            if try !database.isObserved(inode) { try database.setRemote(.gone, of: inode) }
            if try !database.isPending(inode) { try goOnLater(inode) }
            return remainder
        }
        // Not before, so that a way down into very deep directories leaves something for the end.
        changes.removalsLeft -= 1
        try database.removeSynced(inode)
        if remainder == .kept {
            try database.markPending(inode, at: clock.wallTime)
            changes.pending.append(inode)
        } else {
            try removeLocally(inode, kind: record.kind)
        }
        return remainder
    }

    /// The remote no longer has anything of what it had in a directory.
    mutating func vanishBelow(
        _ directory: InodeNumber
    ) throws -> Remainder? {
        var remainder = Remainder.nothing
        var cookie: Int64 = 0
        while true {
            let limit = changes.removalsLeft + 1
            let children = try database.agreedChildren(of: directory, after: cookie, limit: limit)
            for (_, child) in children {
                if try leaveToWriter(child) {
                    remainder.add(.awaits(child))
                } else {
                    guard let below = try vanish(child) else { return nil }
                    remainder.add(below)
                }
            }
            guard children.count == limit, let last = children.last else { break }
            cookie = last.cookie
        }
        try orphanChildren(of: directory)
        // What was made in it, and what came from elsewhere and is still there.
        if try database.hasOwnDirents(directory) { remainder.add(.kept) }
        return remainder
    }

    /// Whether a file, unchanged so far, is left alone as long as it is open for writing: it may
    /// not be all here, and to make it anew would take bytes that nobody has. That it is gone is
    /// noted, and its writer's end decides. What the remote comes to have there is another version.
    private func leaveToWriter(_ inode: InodeNumber) throws -> Bool {
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
    mutating func orphanChildren(
        of directory: InodeNumber
    ) throws {
        let orphans = try database.syncedChildren(of: directory).map(\.inode)
        _ = try database.noteGone(orphans, isHeld: false, at: clock.wallTime)
        changes.pending += orphans
    }

    mutating func removeLocally(
        _ inode: InodeNumber, kind: FileKind
    ) throws {
        if let dirent = try database.dirent(of: inode) {
            try database.removeDirent(dirent, kind: kind, at: clock.wallTime)
            changes.cacheChanges += [.name(dirent.name, dirent.parent), .inode(dirent.parent)]
            if kind == .file { try discard(inode, dirent.name) }
        }
        var record = try database.existingInode(inode)
        record.links = 0
        try database.update(record)
        try database.removePending(inode)
        changes.unlinked.append(inode)
    }
}

/// What stays here of something that the remote no longer has.
enum Remainder: Equatable {
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
