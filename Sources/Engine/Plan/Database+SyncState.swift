import Foundation
import GRDB

extension Database {
    /// Returns everything that the plan for an inode depends on; nil if there is no such inode.
    func syncState(of inode: InodeNumber) throws -> SyncState? {
        guard let record = try self.inode(inode) else { return nil }
        let dirent = try self.dirent(of: inode)
        let synced = try self.synced(inode)
        let isAside = try synced.map { try self.isAside(inode, at: $0) } ?? false
        let name = dirent?.name ?? synced?.name
        var state = SyncState(
            inode: inode, kind: record.kind, local: nil, synced: synced,
            remote: try name.flatMap { try remote(inode, name: $0) },
            intent: try intent(of: inode), isParentSynced: true, occupant: nil,
            successor: nil, remoteChild: nil)
        if let dirent {
            state.local = LocalState(
                parent: dirent.parent, name: dirent.name, mode: record.mode,
                extendedAttributes: try extendedAttributes(of: inode),
                modified: record.modified, generation: record.generation,
                isWriting: record.isWriting, isWhole: record.presence == .whole)
            state.isParentSynced =
                try dirent.parent == .root
                || self.synced(dirent.parent) != nil && !isNotedGone(dirent.parent)
            state.occupant = try occupant(of: dirent, for: inode)
            if isAside { state.occupant?.waitsForUs = false }
            if record.kind == .directory, synced != nil {
                state.isParentBelow = try isSynced(dirent.parent, below: inode)
            }
        } else if let synced {
            state.successor = try successor(of: synced, kind: record.kind)
            if record.kind == .directory {
                state.remoteChild =
                    try firstSyncedChild(of: inode)
                    ?? firstIntendedChild(of: inode)
            }
        }
        if try hasHeld() {
            state.isHeld = try isHeld(inode)
            state.heldAncestor =
                try heldDirectory(atOrAbove: dirent?.parent)
                ?? heldDirectory(atOrAbove: synced?.parent)
        }
        if let synced { state.claimant = try claimant(of: inode, at: synced) }
        if let synced, !isAside, let other = try self.dirent(synced.name, in: synced.parent) {
            state.isPlaceWanted = other.inode != inode
        }
        return state
    }
}

extension Database {
    /// Returns the inode that holds, on the remote, the place of a local name.
    fileprivate func occupant(of dirent: Dirent, for inode: InodeNumber) throws -> Occupant? {
        if let holder = try intendedInode(dirent.name, in: dirent.parent), holder != inode,
            let record = try self.inode(holder)
        {
            // Its state on the remote is unknown; that inode finds out first.
            return Occupant(
                inode: holder, kind: record.kind, etag: nil, isUnlinked: false, waitsForUs: false)
        }
        guard let holder = try syncedInode(dirent.name, in: dirent.parent), holder != inode,
            let record = try self.inode(holder), let synced = try synced(holder)
        else { return nil }
        if try intent(of: holder) != nil {
            // It may not even be there any more.
            return Occupant(
                inode: holder, kind: record.kind, etag: nil, isUnlinked: false, waitsForUs: false)
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
    fileprivate func successor(
        of synced: SyncedRecord, kind: FileKind
    ) throws -> InodeNumber? {
        guard kind == .file, let dirent = try dirent(synced.name, in: synced.parent),
            let record = try inode(dirent.inode), record.kind == .file,
            try isPending(record.id)
        else { return nil }
        return record.id
    }
}
