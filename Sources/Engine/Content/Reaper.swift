import GRDB
import Logging

/// Removes the content of inodes without a name, and the inodes themselves once they are gone from
/// the remote too.
///
/// Content is removed first, so that each content file has a row that names its inode.
struct Reaper: Sendable {
    let store: Store
    let disk: any Disk
    let logger: Logger
    let files: OpenFileTable
    let trash: Trash
    /// The maximum number of inodes removed in one transaction.
    let removalsMax: Int

    /// Removes unlinked inodes. Open ones are removed at their last release, failed ones at the
    /// next start.
    func reap(_ inodes: [InodeNumber]) {
        for start in stride(from: 0, to: inodes.count, by: removalsMax) {
            let batch = inodes[start...].prefix(removalsMax)
            do throws(Blocked) {
                try files.withUnused(Array(batch)) { unused throws(Blocked) in
                    let records = try store.read { database in
                        try unused.compactMap { try unlinked($0, database) }
                    }
                    try removeRows(of: records.filter(isContentRemoved))
                }
            } catch {
                logger.warning(
                    "unlinked inodes kept",
                    metadata: ["count": "\(batch.count)", "reason": "\(error)"])
            }
        }
    }

    /// A variant of ``reap(_:)`` for callers that know the content to be unused.
    func reapUnused(_ inode: InodeNumber) throws(Blocked) {
        guard let record = try store.read({ try unlinked(inode, $0) }) else { return }
        try removeContent(of: record)
        try removeRows(of: [record])
    }

    /// Reaps the leftovers of the previous process, in batches small enough not to delay others.
    func run() async {
        var last = InodeNumber(rawValue: 0)
        do throws(Blocked) {
            while !Task.isCancelled {
                let inodes = try store.read {
                    try $0.unreaped(after: last, limit: removalsMax)
                }
                guard let next = inodes.last else { return }
                reap(inodes)
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
        // Most inodes deleted here have no local bytes, and are removed once the remote has deleted
        // them too.
        guard try store.read(isToDo) else { return }
        try store.write { database in
            for record in records {
                guard var record = try database.inode(record.id), record.links == 0 else {
                    continue
                }
                if try !database.isNeeded(record.id) {
                    try database.deleteInode(record.id)
                } else if record.presence != .remote || record.isWriting {
                    record.presence = .remote
                    record.isWriting = false
                    try database.update(record)
                    try database.setExtents(ExtentSet(), of: record.id)
                    try database.forgetDurability(of: record.id)
                }
            }
        }
    }
}

extension Database {
    /// Whether the synchroniser still needs an inode without a name. A pending one may be in an
    /// upload right now; the synchroniser finds it unlinked and forgets it.
    fileprivate func isNeeded(_ inode: InodeNumber) throws -> Bool {
        try isPending(inode) || synced(inode) != nil
    }

    /// Returns inodes without a name that have more local state than the synchroniser needs,
    /// ascending.
    fileprivate func unreaped(after inode: InodeNumber, limit: Int) throws -> [InodeNumber] {
        let statement = try cachedStatement(
            sql: """
                SELECT id FROM inodes WHERE links = 0 AND id > ? AND (
                    presence > 0 OR writing = 1 OR NOT EXISTS (
                        SELECT 1 FROM pending WHERE inode = id
                        UNION ALL SELECT 1 FROM synced WHERE inode = id))
                ORDER BY id LIMIT ?
                """)
        return try InodeNumber.fetchAll(statement, arguments: [inode, limit])
    }
}
