import GRDB
import Logging

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
        case .removeLocal:
            _ = try vanish(state.inode, &changes, database)
        case .createAnew:
            try forgetRemote(state.inode, &changes, database)
        case .forget:
            try database.removeSynced(state.inode)
            try database.removePending(state.inode)
            changes.unlinked.append(state.inode)
        default:
            try database.markPending(state.inode, at: clock.wallTime)
            changes.pending.append(state.inode)
        }
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
    private func insert(
        _ object: RemoteObject, in directory: InodeNumber, _ database: Database
    ) throws -> InodeRecord {
        let defaultMode =
            object.kind == .directory ? configuration.directoryMode : configuration.fileMode
        var inode = InodeRecord(
            kind: object.kind, mode: (object.mode ?? defaultMode) & 0o7777,
            owner: configuration.owner,
            size: object.kind == .symlink ? UInt64(object.target?.count ?? 0) : object.size,
            modified: object.modified, changed: clock.wallTime, target: object.target)
        if object.kind == .symlink { inode.mode = 0o777 }
        try database.insert(&inode)
        try database.setSynced(
            SyncedRecord(
                parent: directory, name: object.name, etag: object.etag, size: object.size,
                mode: inode.mode, modified: inode.modified, generation: 0),
            of: inode.id)
        return inode
    }

    /// A changed object is a new inode under the old name: open handles keep the version they have.
    private func takeRemote(
        _ object: RemoteObject, _ state: SyncState, _ changes: inout RemoteChanges,
        _ database: Database
    ) throws {
        let place = state.synced.map { ($0.parent, $0.name) }
        try database.removeSynced(state.inode)
        try database.removePending(state.inode)
        guard let dirent = try database.dirent(of: state.inode),
            var record = try database.inode(state.inode)
        else {
            // Deleted here and changed there: it comes back.
            changes.unlinked.append(state.inode)
            guard let (parent, name) = place, let directory = try database.inode(parent),
                directory.links > 0
            else { return }
            var object = object
            object.name = name
            try install(object, in: parent, &changes, database)
            return
        }
        record.links = 0
        try database.update(record)
        changes.unlinked.append(state.inode)
        try database.removeDirent(dirent, kind: record.kind, at: clock.wallTime)
        try install(object, in: dirent.parent, &changes, database)
    }

    /// The remote no longer has an inode, nor anything below it: what is unchanged here goes, what
    /// was changed here stays and is created anew.
    ///
    /// - Returns: Whether something of it stays.
    func vanish(
        _ inode: InodeNumber, _ changes: inout RemoteChanges, _ database: Database
    ) throws -> Bool {
        guard var record = try database.inode(inode) else { return false }
        var isKept = try database.isPending(inode) || record.isWriting
        if record.kind == .directory {
            for child in try database.children(of: inode) {
                // A child that came from elsewhere is still where it was.
                let synced = try database.synced(child.inode)
                if let synced, synced.parent != inode { isKept = true; continue }
                if try vanish(child.inode, &changes, database) { isKept = true }
            }
        }
        if isKept {
            try forgetRemote(inode, &changes, database)
            return true
        }
        if let dirent = try database.dirent(of: inode) {
            try database.removeDirent(dirent, kind: record.kind, at: clock.wallTime)
            changes.cacheChanges += [.name(dirent.name, dirent.parent), .inode(dirent.parent)]
        }
        record = try database.existingInode(inode)
        record.links = 0
        try database.update(record)
        try database.removeSynced(inode)
        changes.unlinked.append(inode)
        return false
    }

    /// From here on the inode counts as never having been on the remote.
    private func forgetRemote(
        _ inode: InodeNumber, _ changes: inout RemoteChanges, _ database: Database
    ) throws {
        try database.removeSynced(inode)
        try database.markPending(inode, at: clock.wallTime)
        changes.pending.append(inode)
    }

    /// Renames a local inode out of the way of the remote's: `name (conflict HOST YYYY-MM-DD).ext`.
    func displace(
        _ dirent: Dirent, _ changes: inout RemoteChanges, _ database: Database
    ) throws {
        let inode = try database.existingInode(dirent.inode)
        let now = clock.wallTime
        var attempt = 0
        var name = ConflictName.make(
            of: dirent.name, host: configuration.hostName, at: now, attempt: attempt)
        while try database.dirent(name, in: dirent.parent) != nil {
            attempt += 1
            name = ConflictName.make(
                of: dirent.name, host: configuration.hostName, at: now, attempt: attempt)
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
}
