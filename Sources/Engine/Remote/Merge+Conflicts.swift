import GRDB
import Logging

extension Merge {
    /// Restores a removed directory and its ancestors, because it holds something not yet seen
    /// locally.
    mutating func restore(_ directory: InodeNumber) throws {
        guard var record = try database.inode(directory), record.links == 0,
            let synced = try database.synced(directory)
        else { return }
        try restore(synced.parent)
        var (parent, name) = (synced.parent, synced.name)
        if try database.isAside(directory, at: synced) {
            // Another object has taken its place.
            let path = try database.pathBeforeMove(of: directory, at: synced) ?? []
            parent = try database.directory(at: path.dropLast()) ?? .root
            let former =
                try database.conflictOriginal(of: directory) ?? path.last
                ?? FileName(stored: Array("directory".utf8))
            name = try freeConflictName(of: former, in: parent)
            try markPending(directory)
        } else if let holder = try database.dirent(name, in: parent) {
            try displace(holder)
        }
        record.links = 2
        record.isListed = false
        try database.update(record)
        try database.insertDirent(
            name, in: parent, to: record, on: .remote, at: clock.wallTime)
        changes.cacheChanges += [.name(name, parent), .inode(parent), .inode(directory)]
        try enqueue([directory])
    }

    /// Renames a local inode out of the way of the remote one, to
    /// `name (conflict HOST YYYY-MM-DD).ext`, with another number if the remote has that name too.
    mutating func displace(_ dirent: Dirent) throws {
        let inode = try database.existingInode(dirent.inode)
        let now = clock.wallTime
        let former = try database.conflictOriginal(of: inode.id)
        let name = try freeConflictName(of: former ?? dirent.name, in: dirent.parent)
        context.agenda.conflictNames.withLock { counts in
            counts[inode.id] = 1 + (former == nil ? 0 : counts[inode.id] ?? 0)
        }
        try database.moveDirent(
            dirent, to: name, in: dirent.parent, of: inode, as: .conflict, at: now)
        try markPending(inode.id)
        try database.noteConflict(inode.id, original: dirent.name, at: now)
        if inode.kind == .file { context.agenda.displaced.withLock { _ = $0.insert(inode.id) } }
        changes.cacheChanges += [
            .name(dirent.name, dirent.parent), .name(name, dirent.parent), .inode(dirent.parent),
        ]
        logger.warning(
            "conflict version kept",
            metadata: ["inode": "\(inode.id)", "name": "\(dirent.name)", "as": "\(name)"])
    }

    static var conflictNamesMax: Int { 5 }

    private func freeConflictName(
        of name: FileName, in directory: InodeNumber
    ) throws -> FileName {
        var attempt = 0
        while true {
            let candidate = ConflictName.make(
                of: name, host: configuration.hostName, at: clock.wallTime, attempt: attempt)
            if try database.isFree(candidate, in: directory, gate.traits.names) {
                return candidate
            }
            attempt += 1
        }
    }

    /// Whether the remote takes a name for that of another known object.
    func hasNamesake(
        _ name: FileName, in directory: InodeNumber, except inode: InodeNumber
    ) throws -> Bool {
        guard gate.traits.names.isFolding else { return false }
        return try database.namesake(of: name, in: directory, on: .agreed, except: inode) != nil
    }
}

extension Merge.Context {
    /// Whether so many conflict names of an inode were taken on the remote that no other is tried:
    /// a faulty remote may report that every name exists.
    func isOutOfNames(_ inode: InodeNumber, in database: Database) throws -> Bool {
        let count = agenda.conflictNames.withLock { $0[inode] ?? 0 }
        return try count >= Merge.conflictNamesMax && database.conflictOriginal(of: inode) != nil
    }

    /// With the delays between them, half a minute.
    private static var writerAttemptsMax: Int { 5 }

    /// Whether a moved file keeps its name as it is open for writing: the program may remove or replace
    /// it by this name. One that stays open for longer, such as a log, gets a conflict name, so that it is
    /// sent.
    func isLeftToWriter(_ inode: InodeNumber, in database: Database) throws -> Bool {
        guard try database.inode(inode)?.isWriting == true else { return false }
        return try database.pending(inode)?.attempts ?? 0 < Self.writerAttemptsMax
    }
}
