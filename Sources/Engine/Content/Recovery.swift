import GRDB
import Logging

/// Repairs the state left by an ended or killed process, before the engine is used.
struct Recovery: Sendable {
    let configuration: EngineConfiguration
    let store: Store
    let disk: any Disk
    let clock: any Clock
    let logger: Logger
    let random: @Sendable () -> UInt64
    let content: ContentStore
    let trash: Trash
    let lostAndFound: LostAndFound

    /// Repairs the state of the previous engine, however it ended.
    func run() throws(Blocked) {
        try identify()
        try passNumbers()
        try trash.recover()
        let isAfterPowerCut = try recoverFromPowerCut()
        try recoverWrites(isAfterPowerCut: isAfterPowerCut)
        // After a power cut there are no others: memory has only bytes of the disk.
        if !isAfterPowerCut { try store.write { try $0.suspectUnsafe() } }
        try removeClones()
        // An eviction right before a kill may not be on the disk: if new bytes began to arrive before
        // it is, a power cut would bring back the record of whole ones.
        try store.synchronize()
    }

    /// Creates the root and the salt of a new state, or verifies that an existing one belongs to
    /// this source.
    private func identify() throws(Blocked) {
        let now = clock.wallTime
        let source = configuration.source
        let known = try store.write { database in
            if try database.inode(.root) == nil {
                var root = InodeRecord(
                    kind: .directory, mode: configuration.directoryMode,
                    owner: configuration.owner, size: 0, modified: now, changed: now)
                try database.insert(&root)
                precondition(root.id == .root, "the root is not the first inode")
            }
            try database.execute(
                sql: "INSERT INTO settings VALUES ('source', ?) ON CONFLICT (key) DO NOTHING",
                arguments: [source])
            if try database.salt().isEmpty {
                try database.execute(
                    sql: "INSERT INTO settings VALUES ('salt', ?)",
                    arguments: [String(random() & 0xFFFF_FFFF, radix: 16)])
            }
            return try String.fetchOne(
                database, sql: "SELECT value FROM settings WHERE key = 'source'")
        }
        guard known == source else {
            throw .failure(
                .damaged, "use the state directory: it belongs to \(known ?? "another source")",
                remedy: "mount that source, or this one with another --state-dir")
        }
    }

    /// Passes over the numbers of all content files. The database may have lost some of their inodes, as
    /// after a power cut, after its log was cut short or an older copy of it was restored; no new inode
    /// gets their bytes.
    private func passNumbers() throws(Blocked) {
        let highest = try onDisk(
            "list \(StateFiles.contentFolder)",
            do: disk.highestNumber(below: StateFiles.contentFolder, limit: Self.numberMax))
        guard let highest, try store.read({ try $0.lastInodeNumber() }) < Int64(highest) else {
            return
        }
        try store.write { try $0.passInodeNumbers(upTo: Int64(highest)) }
    }

    /// The limit of the numbers that are passed over: enough remain beyond it.
    private static var numberMax: UInt64 { 1 << 62 }

    /// Recovers files that were open for writing when the process ended: their content file is
    /// newer than the database (I1).
    private func recoverWrites(isAfterPowerCut: Bool) throws(Blocked) {
        while true {
            let writing = try store.read {
                try $0.inodes(where: "writing = 1", limit: 100)
            }
            if writing.isEmpty { return }
            for inode in writing {
                try content.finishAbandonedWrite(inode, isAfterPowerCut: isAfterPowerCut)
                logger.info("write recovered", metadata: ["inode": "\(inode)"])
            }
        }
    }

    /// Removes clones of interrupted uploads.
    private func removeClones() throws(Blocked) {
        let paths = try onDisk(
            "list \(StateFiles.frozenFolder)", do: disk.files(below: StateFiles.frozenFolder))
        for path in paths {
            if StateFiles.isClone(path) {
                try onDisk("remove a leftover of a crash", do: disk.remove(path))
            } else {
                try lostAndFound.keep(path, of: nil)
            }
        }
    }

    /// Discards bytes that may be torn, if the machine was restarted since the last mount.
    ///
    /// - Returns: Whether it was.
    func recoverFromPowerCut() throws(Blocked) -> Bool {
        let boot = configuration.boot
        let last = try store.read {
            try String.fetchOne($0, sql: "SELECT value FROM settings WHERE key = 'boot'")
        }
        if last == boot { return false }
        if last != nil { try distrustContent() }
        try store.write { database in
            try database.execute(
                sql: "INSERT OR REPLACE INTO settings VALUES ('boot', ?)", arguments: [boot])
        }
        try store.synchronize()
        return last != nil
    }

    /// Looks at the files whose bytes were not on the disk for sure: those written in the last seconds, or
    /// open for writing. All others were synchronised before the database said so, however many of them the
    /// remote lacks. If some of their bytes are gone nevertheless, the next use finds that, see
    /// ``ContentStore/retain(_:)``.
    private func distrustContent() throws(Blocked) {
        try store.write { database in
            try database.forgetUnsafeDiscarded()
            try database.forgetUnstored()
        }
        var last = InodeNumber(rawValue: 0)
        while true {
            let page = try store.read { database in
                let inodes = try database.doubtfulInodes(after: last, limit: Self.pageFiles)
                return (inodes.last, try inodes.filter(database.isPresent))
            }
            guard let end = page.0 else { return }
            var inodes = page.1
            while !inodes.isEmpty { inodes = try distrustContent(of: inodes) }
            last = end
        }
    }

    /// The files that one transaction looks at.
    private static var pageFiles: Int { 1_000 }

    /// Discards bytes of some files that may be torn, in one transaction. If that fails, they are looked
    /// at again, with the same result: see ``discardContent(of:_:)``.
    ///
    /// - Returns: The files that got their names back in place of these: their bytes may be torn too.
    private func distrustContent(of inodes: [InodeNumber]) throws(Blocked) -> [InodeNumber] {
        var sizes: [UInt64] = []
        for inode in inodes {
            sizes.append(
                try onDisk(
                    "read the content size of inode \(inode)",
                    do: disk.status(of: StateFiles.content(of: inode)))?.size ?? 0)
        }
        let trusts = try store.write { database in
            try zip(inodes, sizes).map { try examine($0, ofSize: $1, database) }
        }
        for (index, inode) in inodes.enumerated() {
            guard let length = trusts[index].length, sizes[index] > length else { continue }
            // A truncation that did not reach the disk. Otherwise the next writer, and the next
            // synchronisation, would take the bytes beyond the end for the file's own.
            try truncate(inode, to: length)
        }
        return trusts.compactMap(\.restored)
    }

    /// Truncates a content file so that the next power cut does not bring its end back, into a file that
    /// has grown since.
    private func truncate(_ inode: InodeNumber, to length: UInt64) throws(Blocked) {
        let file = try onDisk("truncate the content of inode \(inode)") { () throws(DiskError) in
            let file = try disk.open(StateFiles.content(of: inode))
            try file.truncate(to: length)
            return file
        }
        do throws(DiskError) {
            try file.synchronize()
        } catch {
            logger.warning(
                "truncated content not synchronized",
                metadata: ["inode": "\(inode)", "reason": "\(error.attempt): \(error.reason)"])
        }
    }

    /// The result of a look at content that a power cut may have torn.
    private struct Trust {
        /// The length of a whole file that is kept.
        var length: UInt64?
        /// The file that got its name back, as this one is discarded.
        var restored: InodeNumber?
    }

    private func examine(
        _ inode: InodeNumber, ofSize size: UInt64, _ database: Database
    ) throws -> Trust {
        guard var record = try database.inode(inode) else { return Trust() }
        let (isSafe, isFsynced) = try (!database.isUnsafe(inode), database.isFsynced(inode))
        let isWhole = record.presence == .whole && !record.isWriting
        let needed =
            record.presence == .whole
            ? record.size : try database.extents(of: inode).end(below: record.size)
        let isShort = size < needed
        // An empty content file was removed, by an unlink that the power cut has undone.
        let isMissing = size == 0 && needed > 0 && !record.isWriting
        let isCut = isShort && record.presence != .whole
        if isFsynced, !isMissing, !isCut {
            if isSafe, !isShort || record.isWriting { return Trust() }
            // The end of bytes written after the last synchronisation may be missing, and
            // the bytes uploaded of it may differ.
            if isShort, !record.isWriting { record.size = size }
            record.generation += 1
            try database.update(record)
            try database.record(.changed, on: .local, record.id, at: clock.wallTime)
            try database.markPending(inode, at: clock.wallTime)
        } else if !isSafe || isShort, record.size > 0 || record.isWriting {
            return Trust(restored: try discardContent(of: record, database))
        }
        return Trust(length: isWhole ? record.size : nil)
    }

    /// Removes the bytes first: without them, recovery comes to the same result again; without the
    /// database's record they would be taken for the remote's.
    ///
    /// - Returns: The file that got its name back.
    private func discardContent(
        of record: InodeRecord, _ database: Database
    ) throws -> InodeNumber? {
        if try database.isOnlyHere(record.id) {
            try lostAndFound.keep(
                StateFiles.content(of: record.id), of: record.id,
                name: database.dirent(of: record.id)?.name)
        }
        logger.warning("content lost in a power cut", metadata: ["inode": "\(record.id)"])
        var record = record
        var restored: InodeNumber?
        let replaced = try database.replaced(by: record.id)
        try database.forgetDurability(of: record.id)
        if let synced = try database.synced(record.id), synced.etag != nil {
            let isChanged = record.isWriting || record.generation != synced.generation
            try revert(&record, to: synced, database)
            try database.record(.changed, on: .local, record.id, at: clock.wallTime)
            if isChanged, let replaced, let dirent = try database.dirent(of: record.id),
                let former = try former(replaced, at: dirent, database)
            {
                try stepAside(record, from: dirent, to: synced, database)
                restored = try restore(former, at: dirent, database)
            }
        } else {
            record.presence = .remote
            record.isWriting = false
            record.generation += 1
            try database.setExtents(ExtentSet(), of: record.id)
            try database.removeIntent(of: record.id)
            if let dirent = try database.dirent(of: record.id) {
                try database.removeDirent(
                    dirent, kind: record.kind, on: .local, at: clock.wallTime)
                if let former = try former(replaced, at: dirent, database) {
                    restored = try restore(former, at: dirent, database)
                }
            }
            record.links = 0
        }
        try database.update(record)
        try database.markPending(record.id, at: clock.wallTime)
        return restored
    }

    /// Makes the synced version of a file the local one.
    private func revert(
        _ record: inout InodeRecord, to synced: SyncedRecord, _ database: Database
    ) throws {
        let intent = try database.intent(of: record.id)
        record.presence = .remote
        record.isWriting = false
        record.size = synced.size
        record.modified = synced.modified
        // No generation is used twice: an upload of other bytes may have been interrupted.
        record.generation = max(record.generation, synced.generation) + 1
        if var intent, intent.generation == synced.generation {
            // The intent concerns the synced version, which is current again.
            intent.generation = record.generation
            try database.setIntent(intent, of: record.id)
        } else {
            // If its request succeeded after all, it is seen as a change by another client.
            try database.removeIntent(of: record.id)
        }
        try database.setExtents(ExtentSet(), of: record.id)
        var agreed = synced
        agreed.generation = record.generation
        try database.setSynced(agreed, of: record.id)
    }

    /// Returns the file that a lost one has replaced, here or else on the remote, if it is still whole.
    private func former(
        _ replaced: InodeNumber?, at place: Dirent, _ database: Database
    ) throws -> InodeRecord? {
        let candidates = [replaced, try database.syncedInode(place.name, in: place.parent)]
        for former in candidates.compactMap(\.self) {
            guard var record = try database.inode(former), record.links == 0,
                record.kind != .directory, try database.dirent(of: former) == nil
            else { continue }
            // Another file of ours got that name first, and may have replaced it on the remote.
            if former != replaced, try database.isToBeReplaced(former) { continue }
            // One that has kept its bytes is looked at next.
            if record.kind == .file, record.presence == .remote || former != replaced {
                guard let synced = try database.synced(former), synced.etag != nil else {
                    continue
                }
                try revert(&record, to: synced, database)
            }
            return record
        }
        return nil
    }

    /// Gives a file the place of a lost one that has replaced it.
    ///
    /// - Returns: The file.
    private func restore(
        _ former: InodeRecord, at place: Dirent, _ database: Database
    ) throws -> InodeNumber {
        var record = former
        record.links = 1
        try database.update(record)
        try database.insertDirent(
            place.name, in: place.parent, to: record, on: .local, at: clock.wallTime)
        try database.markPending(record.id, at: clock.wallTime)
        return record.id
    }

    /// Takes a file that has lost its changes from a place that it has got with them: back to its place
    /// on the remote, or else, if that is taken too, to a conflict name.
    private func stepAside(
        _ record: InodeRecord, from place: Dirent, to synced: SyncedRecord, _ database: Database
    ) throws {
        let now = clock.wallTime
        try database.removeDirent(place, kind: record.kind, on: .local, at: now)
        let isFree =
            try database.inode(synced.parent).map { $0.kind == .directory && $0.links > 0 } == true
            && database.dirent(synced.name, in: synced.parent) == nil
            && !database.isAside(record.id, at: synced)
            && (synced.parent, synced.name) != (place.parent, place.name)
        if isFree {
            try database.insertDirent(
                synced.name, in: synced.parent, to: record, on: .local, at: now)
            return
        }
        var (name, attempt) = (place.name, 0)
        repeat {
            name = ConflictName.make(
                of: place.name, host: configuration.hostName, at: now, attempt: attempt)
            attempt += 1
        } while try database.dirent(name, in: place.parent) != nil
        try database.insertDirent(name, in: place.parent, to: record, on: .local, at: now)
        try database.noteConflict(record.id, original: place.name, at: now)
    }
}
