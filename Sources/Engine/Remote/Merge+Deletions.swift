import GRDB

extension Merge {
    /// Applies further remote deletions in the same transaction: one transaction each would be
    /// slow.
    mutating func applyDeletions(after inode: InodeNumber) throws {
        guard changes.removalsLeft > 0 else { return }
        // The waits of other inodes do not concern this one.
        let awaited = changes.awaited
        defer { changes.awaited = awaited }
        for other in try database.goneInodes(after: inode, limit: changes.removalsLeft) {
            guard changes.removalsLeft > 0 else { return }
            guard let state = try database.syncState(of: other) else { continue }
            let plan = Planner.plan(state)
            guard plan == .removeLocal || plan == .forget else { continue }
            try applyLocally(plan, state)
            if try !database.isPending(other) { context.agenda.forgetConflict(of: other) }
        }
    }

    /// Applies the remote deletion of an inode and everything below it: unchanged items are
    /// removed, locally changed ones are kept and recreated on the remote.
    ///
    /// - Returns: The remainder; nil if this is too much for one transaction: part of the subtree
    ///   is then removed, and the next call continues.
    mutating func applyRemoteDeletion(_ inode: InodeNumber) throws -> Remainder? {
        guard let record = try database.inode(inode) else { return .nothing }
        guard changes.removalsLeft > 0 else { return nil }
        let isKept = try database.syncState(of: inode).map(Planner.keepsWhenGone) ?? false
        var remainder: Remainder = isKept ? .kept : .nothing
        if record.kind == .directory {
            guard let below = try applyRemoteDeletionBelow(inode) else {
                changes.uncovered.append(inode)
                return nil
            }
            remainder.add(below)
        }
        if case .awaits = remainder {
            if try !database.isObserved(inode) { try database.setRemote(.gone, of: inode) }
            if try !database.isPending(inode) { try markPending(inode) }
            return remainder
        }
        // Counted on the way back, so that a descent into very deep directories cannot use up the
        // budget.
        changes.removalsLeft -= 1
        try database.removeSynced(inode)
        if remainder == .kept {
            try markPending(inode)
        } else {
            try removeLocally(inode, kind: record.kind)
        }
        return remainder
    }

    /// Applies the remote deletion of everything that the remote had in a directory.
    mutating func applyRemoteDeletionBelow(
        _ directory: InodeNumber
    ) throws -> Remainder? {
        var remainder = Remainder.nothing
        let removalsLeft = changes.removalsLeft
        var cookie: Int64 = 0
        while true {
            let limit = changes.removalsLeft + 1
            let children = try database.agreedChildren(of: directory, after: cookie, limit: limit)
            for (_, child) in children {
                if try leaveToWriter(child) {
                    remainder.add(.awaits(child))
                } else {
                    guard let below = try applyRemoteDeletion(child) else { return nil }
                    remainder.add(below)
                }
            }
            guard children.count == limit, let last = children.last else { break }
            cookie = last.cookie
        }
        let hasOrphans = try orphanChildren(of: directory)
        // Entries created in it, or moved into it from elsewhere and still there.
        if try database.hasOwnDirents(directory) { remainder.add(.kept) }
        // A later listing may show it again.
        if remainder != .nothing, hasOrphans || changes.removalsLeft < removalsLeft {
            changes.uncovered.append(directory)
        }
        return remainder
    }

    /// Whether a file, unchanged so far, is kept while it is open for writing: it may be
    /// incomplete, and recreating it would need bytes that no longer exist. The deletion is stored,
    /// and decided when the last writer closes the file. A later object at its place on the remote
    /// is another version.
    private func leaveToWriter(_ inode: InodeNumber) throws -> Bool {
        guard let record = try database.inode(inode), record.kind == .file, record.isWriting,
            var synced = try database.synced(inode), synced.generation == record.generation,
            try database.intent(of: inode) == nil
        else { return false }
        if synced.etag != nil {
            synced.etag = nil
            try database.setSynced(synced, of: inode)
        }
        return true
    }

    /// Marks as gone the inodes that the remote had in a deleted directory and that have no local
    /// name in it.
    ///
    /// - Returns: Whether there are any.
    @discardableResult
    mutating func orphanChildren(of directory: InodeNumber) throws -> Bool {
        let orphans = try database.syncedChildren(of: directory).map(\.inode)
        try noteGone(orphans, isHeld: false)
        return !orphans.isEmpty
    }

    mutating func removeLocally(_ inode: InodeNumber, kind: FileKind) throws {
        if let dirent = try database.dirent(of: inode) {
            try database.removeDirent(dirent, kind: kind, on: .remote, at: clock.wallTime)
            changes.cacheChanges += [.name(dirent.name, dirent.parent), .inode(dirent.parent)]
            if kind == .file {
                try database.discard(inode, dirent, configuration, at: clock.wallTime)
            }
        }
        var record = try database.existingInode(inode)
        record.links = 0
        try database.update(record)
        try removePending(inode)
        // The row may have to stay for a while, and nothing would resolve a lost answer any more.
        try database.removeIntent(of: inode)
        changes.unlinked.append(inode)
    }
}

/// The local remainder of something that the remote no longer has.
enum Remainder: Equatable {
    case nothing
    /// Removed, unless this file below it, which is open for writing, is changed.
    case awaits(InodeNumber)
    /// Something created or changed locally, for which it is recreated.
    case kept

    mutating func add(_ other: Remainder) {
        switch (self, other) {
        case (.nothing, _), (.awaits, .kept): self = other
        case (.awaits, _), (.kept, _): break
        }
    }
}
