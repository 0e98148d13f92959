import Foundation
import GRDB

extension Database {
    /// As ``syncState(of:)``, and whether the inode is excluded.
    func syncState(of inode: InodeNumber, _ exclusions: Exclusions) throws -> SyncState? {
        guard var state = try syncState(of: inode) else { return nil }
        if exclusions.isEmpty || state.synced != nil || state.local == nil { return state }
        let isDirectory = state.kind == .directory
        state.isExcluded =
            try exclusions.contain(path(of: inode), isDirectory: isDirectory)
            // Moved there before the pattern was given: they are sent in their directory.
            && !(isDirectory && hasSyncedItem(below: inode))
        return state
    }

    /// Returns everything that the plan for an inode depends on; nil if there is no such inode.
    func syncState(of inode: InodeNumber) throws -> SyncState? {
        guard var row = try row(SyncRow.query, [inode], SyncRow.init) else { return nil }
        if row.isFolding { try row.matchNames(self) }
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

    /// Returns the file that has the agreed name of an inode instead of it and is open for writing. Until
    /// it is closed it keeps that name: the program may remove or replace by it what it has open.
    func writer(inPlaceOf state: SyncState) throws -> InodeNumber? {
        guard let synced = state.synced,
            let dirent = try dirent(synced.name, in: synced.parent), dirent.inode != state.inode,
            let holder = try inode(dirent.inode), holder.kind == .file, holder.isWriting
        else { return nil }
        return holder.id
    }
}

/// The rows of an inode, and the inodes that have or want its names, from a single statement:
/// most states need no other.
private struct SyncRow {
    /// Without the intent, the observation, and the obstacles, which take further statements.
    private(set) var state: SyncState
    let hasIntent: Bool
    let isObserved: Bool
    /// An inode that may have taken the place of the local name on the remote.
    private(set) var intended: InodeNumber?
    /// The inode that has this place.
    private(set) var holder: InodeNumber?
    /// The inode whose local name is the place of this one on the remote.
    private(set) var entrant: InodeNumber?
    /// Whether any remote deletion is held.
    let isAnyHeld: Bool
    /// Whether the remote takes different names for one.
    let isFolding: Bool

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
            EXISTS (SELECT 1 FROM folded_names),
            EXISTS (SELECT 1 FROM excluded WHERE inode = id),
            \(SyncedRecord.columns)
        FROM inodes LEFT JOIN dirents ON dirents.inode = id
            LEFT JOIN synced ON synced.inode = id
        WHERE id = ?
        """

    init(_ row: StatementRow) {
        state = SyncState(
            inode: row[0], kind: row[1],
            synced: (row[20] as InodeNumber?).map { _ in SyncedRecord(row, from: 20) },
            claimant: row[13], isParentSynced: true)
        if let parent: InodeNumber = row[8] {
            state.local = LocalState(
                parent: parent, name: row[9], mode: row[2],
                extendedAttributes: row[7] ?? ExtendedAttributes(),
                modified: row[3], generation: row[4], isWriting: row[5],
                isWhole: row[6] == Presence.whole)
            state.isParentSynced = row[10]
        }
        state.wasExcluded = row[19]
        (intended, holder, entrant, isAnyHeld) = (row[11], row[12], row[14], row[15])
        (hasIntent, isObserved, isFolding) = (row[16], row[17], row[18])
    }

    /// Takes the names into account that the remote takes for those of the inode.
    mutating func matchNames(_ database: Database) throws {
        let inode = state.inode
        if let local = state.local {
            let namesakes = try database.namesakes(of: local.name, in: local.parent)
            intended = intended ?? namesakes.first(.intended, except: inode)?.inode
            holder = holder ?? namesakes.first(.agreed, except: inode)?.inode
            state.isRespelled =
                local.name != state.synced?.name
                && namesakes.contains { $0.side == .agreed && $0.inode == inode }
            if state.synced.map({ ($0.parent, $0.name) != (local.parent, local.name) }) ?? true {
                state.namesake = try database.preferred(among: namesakes, over: inode)?.name
            }
        }
        guard let synced = state.synced else { return }
        let namesakes = try database.namesakes(of: synced.name, in: synced.parent)
        state.claimant = state.claimant ?? namesakes.first(.intended, except: inode)?.inode
        if namesakes.contains(where: { $0.side == .local && $0.inode == inode }) {
            entrant = inode
        } else if entrant == nil {
            entrant = try database.preferred(among: namesakes, over: nil)?.inode
        }
        if state.local == nil, let twin = namesakes.first(.agreed, except: inode) {
            let isOther =
                try state.kind == .file && database.synced(twin.inode)?.etag != synced.etag
            if !isOther { state.namesake = twin.name }
        }
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
            mayReturn: try record.links == 0 && row.state.synced != nil
                && mayReturn(holder, afterMoveOf: inode),
            waitsForUs: try waits(holder, for: inode))
    }

    /// Whether an unlinked inode gets its name back if a power cut takes the changes of a file that is to
    /// be moved over it. An upload would bring these changes to the remote, a move does not.
    private func mayReturn(_ inode: InodeNumber, afterMoveOf mover: InodeNumber) throws -> Bool {
        guard let record = try self.inode(mover), let synced = try synced(mover),
            record.isWriting || record.generation != synced.generation
        else { return false }
        return try isReplacedUnsafely(inode)
    }

    /// Whether an inode can get its name only after another one has left its own: follows the chain
    /// of occupied names.
    private func waits(_ inode: InodeNumber, for other: InodeNumber) throws -> Bool {
        var current = inode
        for _ in 0..<1_000 {
            guard let dirent = try dirent(of: current) else { return false }
            // An inode that is to lie below `other` waits for it too.
            if try isInode(dirent.parent, atOrBelow: other) { return true }
            let place = try remoteHolder(of: dirent.name, in: dirent.parent, except: current)
            guard let holder = place, holder != current else { return false }
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

    /// Returns the first inode with pending changes on the way up from one to another that it is below on
    /// the remote: one that is not pending itself leaves with a directory above it.
    func pendingInode(
        atOrAbove inode: InodeNumber, below end: InodeNumber
    ) throws -> InodeNumber? {
        var (current, first) = (inode, nil as InodeNumber?)
        while current != end {
            if first == nil, try isPending(current) { first = current }
            guard current != .root, let synced = try synced(current) else { return nil }
            current = synced.parent
        }
        return first
    }

    /// Returns the file that is to replace an unlinked one on the remote, in one step.
    fileprivate func successor(_ row: SyncRow) throws -> InodeNumber? {
        guard row.state.kind == .file, let entrant = row.entrant,
            let record = try inode(entrant), record.kind == .file, try isPending(entrant),
            try !mayReturn(row.state.inode, afterMoveOf: entrant)
        else { return nil }
        return entrant
    }
}

extension [Namesake] {
    fileprivate func first(_ side: Namesake.Side, except inode: InodeNumber) -> Namesake? {
        first { $0.side == side && $0.inode != inode }
    }
}

extension Database {
    /// Returns the inode that gets a name on the remote for which several inodes have local names.
    /// The order is total, so that they never wait for each other: first those that have the name
    /// there, then those that have stepped aside, then those that have another one there, then new ones.
    ///
    /// - Parameters:
    ///   - namesakes: All namesakes of a name, ascending.
    ///   - inode: One of them; nil to return the first in any case.
    /// - Returns: nil if it is `inode`.
    fileprivate func preferred(
        among namesakes: [Namesake], over inode: InodeNumber?
    ) throws -> Namesake? {
        let local = namesakes.filter { $0.side == .local }
        guard local.count > 1 || inode == nil else { return nil }
        var best: (namesake: Namesake, rank: Int)?
        for namesake in local {
            let synced = try synced(namesake.inode)
            let isThere = namesakes.contains { $0.side == .agreed && $0.inode == namesake.inode }
            let isNext = try synced.map { try isAside(namesake.inode, at: $0) } ?? false
            let rank = isThere ? 3 : isNext ? 2 : synced == nil ? 0 : 1
            if best.map({ rank > $0.rank }) ?? true { best = (namesake, rank) }
        }
        return best?.namesake.inode == inode ? nil : best?.namesake
    }
}
