import Foundation
import GRDB

extension Database {
    /// Returns everything that the plan for an inode depends on; nil if there is no such inode.
    func syncState(of inode: InodeNumber) throws -> SyncState? {
        let statement = try cachedStatement(sql: SyncRow.query)
        guard let row = try SyncRow.fetchOne(statement, arguments: [inode]) else {
            return nil
        }
        var state = row.state
        if row.hasIntent { state.intent = try intent(of: inode) }
        if row.isObserved, let name = state.local?.name ?? state.synced?.name {
            state.remote = try remote(inode, name: name)
        }
        let isAside = try state.synced.map { try self.isAside(inode, at: $0) } ?? false
        if let local = state.local {
            state.occupant = try occupant(row, for: inode)
            if isAside { state.occupant?.waitsForUs = false }
            if state.kind == .directory, state.synced != nil {
                state.isParentBelow = try isSynced(local.parent, below: inode)
            }
        } else if state.synced != nil {
            state.successor = try successor(row)
            if state.kind == .directory {
                state.remoteChild =
                    try firstSyncedChild(of: inode) ?? firstIntendedChild(of: inode)
            }
        }
        if row.isAnyHeld {
            state.isHeld = try isHeld(inode)
            state.heldAncestor =
                try heldDirectory(atOrAbove: state.local?.parent)
                ?? heldDirectory(atOrAbove: state.synced?.parent)
        }
        if !isAside, let entrant = row.entrant { state.isPlaceWanted = entrant != inode }
        return state
    }
}

/// The rows of an inode, and the inodes that have or want its names, from a single statement:
/// most states need no other.
private struct SyncRow: FetchableRecord {
    /// Without the intent, the observation, and the obstacles, which take further statements.
    private(set) var state: SyncState
    let hasIntent: Bool
    let isObserved: Bool
    /// An inode that may have taken the place of the local name on the remote.
    let intended: InodeNumber?
    /// The inode that has this place.
    let holder: InodeNumber?
    /// The inode whose local name is the place of this one on the remote.
    let entrant: InodeNumber?
    /// Whether any remote deletion is held.
    let isAnyHeld: Bool

    static let query = """
        SELECT id, inodes.kind, inodes.mode, inodes.modified, inodes.generation, writing, presence,
            (SELECT attributes FROM xattrs WHERE inode = id),
            dirents.parent, dirents.name,
            dirents.parent = 1 OR EXISTS (SELECT 1 FROM synced WHERE inode = dirents.parent)
                AND NOT EXISTS (SELECT 1 FROM remote WHERE inode = dirents.parent AND gone = 1),
            (SELECT inode FROM intents
                WHERE parent = dirents.parent AND name = dirents.name LIMIT 1),
            (SELECT inode FROM synced WHERE parent = dirents.parent AND name = dirents.name),
            (SELECT inode FROM intents
                WHERE parent = synced.parent AND name = synced.name AND inode <> id LIMIT 1),
            (SELECT inode FROM dirents WHERE parent = synced.parent AND name = synced.name),
            EXISTS (SELECT 1 FROM remote WHERE held = 1),
            EXISTS (SELECT 1 FROM intents WHERE inode = id),
            EXISTS (SELECT 1 FROM remote WHERE inode = id),
            \(SyncedRecord.columns)
        FROM inodes LEFT JOIN dirents ON dirents.inode = id
            LEFT JOIN synced ON synced.inode = id
        WHERE id = ?
        """

    init(row: Row) {
        state = SyncState(
            inode: row[0], kind: row[1],
            synced: row.hasNull(atIndex: 18) ? nil : SyncedRecord(row, from: 18),
            claimant: row[13], isParentSynced: true)
        if let parent: InodeNumber = row[8] {
            state.local = LocalState(
                parent: parent, name: row[9], mode: row[2],
                extendedAttributes: row[7] ?? ExtendedAttributes(),
                modified: row[3], generation: row[4], isWriting: row[5],
                isWhole: row[6] == Presence.whole)
            state.isParentSynced = row[10]
        }
        (intended, holder, entrant, isAnyHeld) = (row[11], row[12], row[14], row[15])
        (hasIntent, isObserved) = (row[16], row[17])
    }
}

extension Database {
    /// Returns the inode that holds, on the remote, the place of a local name.
    fileprivate func occupant(_ row: SyncRow, for inode: InodeNumber) throws -> Occupant? {
        if let holder = row.intended, holder != inode, let record = try self.inode(holder) {
            // Its state on the remote is unknown; that inode finds out first.
            return Occupant(inode: holder, kind: record.kind)
        }
        guard let holder = row.holder, holder != inode,
            let record = try self.inode(holder), let synced = try synced(holder)
        else { return nil }
        if try intent(of: holder) != nil {
            // It may not even be there any more.
            return Occupant(inode: holder, kind: record.kind)
        }
        return Occupant(
            inode: holder, kind: record.kind,
            etag: record.kind == .file ? synced.etag : nil, isUnlinked: record.links == 0,
            isOvertaken: try remote(holder, name: synced.name) != nil,
            waitsForUs: try waits(holder, for: inode))
    }

    /// Whether an inode can get its name only after another one has left its own: follows the chain
    /// of occupied names.
    private func waits(_ inode: InodeNumber, for other: InodeNumber) throws -> Bool {
        var current = inode
        for _ in 0..<1_000 {
            guard let dirent = try dirent(of: current) else { return false }
            // An inode that is to lie below `other` waits for it too.
            if try isInode(dirent.parent, atOrBelow: other) { return true }
            guard let holder = try syncedInode(dirent.name, in: dirent.parent), holder != current
            else { return false }
            if holder == other { return true }
            current = holder
        }
        return false
    }

    /// Whether an inode lies below another one on the remote.
    fileprivate func isSynced(_ inode: InodeNumber, below ancestor: InodeNumber) throws -> Bool {
        var current = inode
        while current != ancestor {
            guard current != .root, let synced = try synced(current) else { return false }
            current = synced.parent
        }
        return true
    }

    /// Returns the file that is to replace an unlinked one on the remote, in one step.
    fileprivate func successor(_ row: SyncRow) throws -> InodeNumber? {
        guard row.state.kind == .file, let entrant = row.entrant,
            let record = try inode(entrant), record.kind == .file, try isPending(entrant)
        else { return nil }
        return entrant
    }
}
