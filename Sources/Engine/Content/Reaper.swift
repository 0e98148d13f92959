import GRDB
import Logging

/// Removes the content of inodes without a name, and the inodes themselves once they are gone from
/// the remote too.
///
/// Content goes once the removal of the name survives a power cut, and once the bytes of a file that
/// was renamed over it do, see ``Flusher``: until then a power cut may give the inode its name back.
/// Content moves to the trash once its bytes survive a power cut.
///
/// Content is removed before rows, so that each content file has a row that names its inode.
struct Reaper: Sendable {
    let store: Store
    let disk: any Disk
    let logger: Logger
    let files: OpenFileTable
    let trash: Trash
    /// The maximum number of inodes removed in one transaction.
    let removalsMax: Int
    private let waiting = Locked(ReapQueue())

    init(
        store: Store, disk: any Disk, logger: Logger, files: OpenFileTable, trash: Trash,
        removalsMax: Int
    ) {
        self.store = store
        self.disk = disk
        self.logger = logger
        self.files = files
        self.trash = trash
        self.removalsMax = removalsMax
    }

    /// Removes unlinked inodes, or leaves them to ``reapWaiting()``. Open ones are removed after
    /// their last release, failed ones at the next start.
    func reap(_ inodes: [InodeNumber]) {
        do throws(Blocked) {
            for batch in batches(of: inodes) {
                try files.withUnused(batch) { unused throws(Blocked) in
                    try removeRows(of: reapable(unused).filter(isContentRemoved))
                }
            }
        } catch {
            logger.warning(
                "unlinked inodes kept",
                metadata: ["count": "\(inodes.count)", "reason": "\(error)"])
        }
    }

    /// Removes an inode that has lost its last name.
    ///
    /// - Parameter wasOnlyRemote: Whether it had no local bytes then, as most, and its row is needed until
    ///   the remote has deleted it too: then there is nothing to remove now.
    func reap(_ inode: InodeNumber, wasOnlyRemote: Bool) {
        if wasOnlyRemote, isOnlyRemote(inode) { return }
        reap([inode])
    }

    /// Whether an unlinked inode still has no local bytes, or its last user will remove them. A user that
    /// closed it meanwhile may have stored some.
    private func isOnlyRemote(_ inode: InodeNumber) -> Bool {
        if files.noteUnlinked(inode) { return true }
        let hasContent = try? store.readBriefly { try $0.hasContent(inode) }
        return hasContent == false
    }

    /// A variant of ``reap(_:)`` for callers that know the content to be unused.
    func reapUnused(_ inode: InodeNumber) throws(Blocked) {
        for record in try reapable([inode]) {
            try removeContent(of: record)
            try removeRows(of: [record])
        }
    }

    // MARK: Waiting inodes

    var isWaiting: Bool { waiting.withLock { !$0.isEmpty } }

    /// Removes the inodes that had to wait, except those that have to wait longer.
    ///
    /// - Returns: Whether any content was removed.
    @discardableResult
    func reapWaiting() throws(Blocked) -> Bool {
        let taken = waiting.withLock { $0.take() }
        do throws(Blocked) {
            var isAny = try reapDurably(taken.inodes)
            var last = InodeNumber(rawValue: 0)
            while taken.isOverflowing {
                let inodes = try store.read { try $0.unreaped(after: last, limit: 1_000) }
                guard let next = inodes.last else { break }
                if try reapDurably(inodes) { isAny = true }
                last = next
            }
            return isAny
        } catch {
            waiting.withLock { $0.putBack(taken) }
            throw error
        }
    }

    /// Removes unlinked inodes, once their state survives a power cut.
    ///
    /// - Returns: Whether there was any.
    private func reapDurably(_ inodes: [InodeNumber]) throws(Blocked) -> Bool {
        let (removable, held) = try store.read { database in
            var inodes = inodes
            let end = try inodes.partition { inode in
                try database.isReplacedUnsafely(inode) || database.isDiscardedUnsafely(inode)
            }
            return (inodes[..<end].sorted(), Array(inodes[end...]))
        }
        waiting.withLock { queue in held.forEach { queue.add($0) } }
        guard !removable.isEmpty else { return false }
        try store.synchronize()
        for batch in batches(of: removable) {
            try files.withUnused(batch) { unused throws(Blocked) in
                let records = try store.read { database in
                    try unused.compactMap { try unlinked($0, database) }
                }
                try removeRows(of: records.filter(isContentRemoved))
            }
        }
        return true
    }

    /// Returns the inodes among some that may be removed now. The others wait.
    private func reapable(_ inodes: [InodeNumber]) throws(Blocked) -> [InodeRecord] {
        let (now, later) = try store.readBriefly { [store] database in
            // After the first look, which decides which commits the others see.
            _ = try database.isPending(.root)
            let isSettled = store.isSettled
            var (now, later): ([InodeRecord], [InodeNumber]) = ([], [])
            for inode in inodes {
                guard let record = try unlinked(inode, database) else { continue }
                if try database.hasToWait(record, isSettled: isSettled) {
                    later.append(inode)
                } else {
                    now.append(record)
                }
            }
            return (now, later)
        }
        waiting.withLock { queue in later.forEach { queue.add($0) } }
        return now
    }

    private func batches(of inodes: [InodeNumber]) -> some Sequence<[InodeNumber]> {
        stride(from: 0, to: inodes.count, by: removalsMax).lazy.map {
            Array(inodes[$0...].prefix(removalsMax))
        }
    }

    // MARK: Leftovers

    /// Reaps the leftovers of the previous process, in batches small enough not to delay others.
    /// Whatever it has committed survives a power cut since the start.
    func run() async {
        var last = InodeNumber(rawValue: 0)
        do throws(Blocked) {
            while !Task.isCancelled {
                let inodes = try store.read { try $0.unreaped(after: last, limit: 1_000) }
                guard let next = inodes.last else { return }
                _ = try reapDurably(inodes)
                last = next
                await Task.yield()
            }
        } catch {
            logger.warning("unlinked inodes kept", metadata: ["reason": "\(error)"])
        }
    }

    /// Returns an inode that is to be reaped. An inode with a name is not unlinked, even if its
    /// damaged link count is zero: a check corrects the count.
    private func unlinked(_ inode: InodeNumber, _ database: Database) throws -> InodeRecord? {
        guard let record = try database.inode(inode), record.links == 0,
            try database.dirent(of: inode) == nil
        else { return nil }
        return record
    }

    private func isContentRemoved(_ record: InodeRecord) -> Bool {
        do throws(Blocked) {
            try removeContent(of: record)
            return true
        } catch {
            // The next start finds it again.
            logger.warning(
                "unlinked inode kept", metadata: ["inode": "\(record.id)", "reason": "\(error)"])
            return false
        }
    }

    private func removeContent(of record: InodeRecord) throws(Blocked) {
        guard record.kind == .file else { return }
        if record.presence == .whole { try trash.move(record.id) }
        try onDisk(
            "remove the content of inode \(record.id)",
            do: disk.remove(StateFiles.content(of: record.id)))
    }

    private func removeRows(of records: [InodeRecord]) throws(Blocked) {
        let isToDo = { (database: Database) in
            try records.contains { record in
                try record.presence != .remote || record.isWriting
                    || !database.isNeeded(record.id)
            }
        }
        // A replaced file without local bytes is removed once the remote has deleted it too.
        guard try store.readBriefly(isToDo) else { return }
        try store.write { database in
            for record in records {
                guard let former = try database.inode(record.id), former.links == 0 else {
                    continue
                }
                var record = former
                if try !database.isNeeded(record.id) {
                    try database.deleteInode(record.id)
                } else if record.presence != .remote || record.isWriting {
                    record.presence = .remote
                    record.isWriting = false
                    try database.update(record, from: former)
                    try database.setExtents(ExtentSet(), of: record.id)
                    try database.forgetDurability(of: record.id)
                }
            }
        }
    }
}

extension Database {
    /// Whether an unlinked inode has to stay until the database and a file that was renamed over it
    /// are safe.
    ///
    /// - Parameter isSettled: See ``Store/isSettled``.
    fileprivate func hasToWait(_ record: InodeRecord, isSettled: Bool) throws -> Bool {
        if try isReplacedUnsafely(record.id) { return true }
        guard record.kind == .file, record.presence != .remote || record.isWriting else {
            return false
        }
        // Bytes move to the trash once they are on the disk. After a power cut the remote's deletion of a
        // file is seen again, but a removal here is as if it had never been, and so may be an upload.
        return try !isSettled || discarded(record.id) == nil || isPending(record.id)
            || isDiscardedUnsafely(record.id)
    }

    fileprivate func hasContent(_ inode: InodeNumber) throws -> Bool {
        try hasRow("inodes WHERE id = ? AND (presence > 0 OR writing = 1)", [inode])
    }

    /// Whether the synchroniser still needs an inode without a name. A pending one may be in an
    /// upload right now; the synchroniser finds it unlinked and forgets it.
    fileprivate func isNeeded(_ inode: InodeNumber) throws -> Bool {
        try isPending(inode) || isSynced(inode)
    }

    /// Returns inodes without a name that have more local state than the synchroniser needs,
    /// ascending.
    fileprivate func unreaped(after inode: InodeNumber, limit: Int) throws -> [InodeNumber] {
        try values(
            """
            SELECT id FROM inodes WHERE links = 0 AND id > ? AND (
                presence > 0 OR writing = 1 OR NOT EXISTS (
                    SELECT 1 FROM pending WHERE inode = id
                    UNION ALL SELECT 1 FROM synced WHERE inode = id))
            ORDER BY id LIMIT ?
            """, [inode, limit])
    }
}
