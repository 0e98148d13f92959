import GRDB
import Logging

/// Removes the content of inodes that lost their last name, and the inodes themselves once the remote
/// does not have them either.
///
/// Content is removed first, so that no content file exists without a row that names its inode.
struct Reaper: Sendable {
    let store: Store
    let disk: any Disk
    let logger: Logger
    let files: OpenFileTable
    let trash: Trash
    /// Inodes that are removed in one transaction at most.
    let removalsMax: Int
}

extension Reaper {
    /// Clears away what is unlinked. Those that are open are left to their last release, and what
    /// fails to the next start.
    func reap(_ inodes: [InodeNumber]) {
        var rest = inodes[...]
        while !rest.isEmpty {
            let batch = rest.prefix(removalsMax)
            rest = rest.dropFirst(batch.count)
            do throws(Halt) {
                try files.withUnused(Array(batch)) { unused throws(Halt) in
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

    /// ``reap(_:)`` for a caller that knows that nobody uses the content.
    func reapUnused(_ inode: InodeNumber) throws(Halt) {
        guard let record = try store.read({ try unlinked(inode, $0) }) else { return }
        try removeContent(of: record)
        try removeRows(of: [record])
    }

    /// Reaps what the process before has left, as many at a time as others can wait for.
    func run() async {
        var last = InodeNumber(rawValue: 0)
        do throws(Halt) {
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

    /// An inode that is to be reaped. What has a name is not unlinked, whatever a damaged count says:
    /// a check counts anew.
    private func unlinked(_ inode: InodeNumber, _ database: Database) throws -> InodeRecord? {
        guard let record = try database.inode(inode), record.links == 0,
            try database.dirent(of: inode) == nil
        else { return nil }
        return record
    }

    private func isContentRemoved(_ record: InodeRecord) -> Bool {
        do throws(Halt) {
            try removeContent(of: record)
            return true
        } catch {
            // Found again at the next start.
            logger.warning(
                "unlinked inode kept", metadata: ["inode": "\(record.id)", "reason": "\(error)"])
            return false
        }
    }

    private func removeContent(of record: InodeRecord) throws(Halt) {
        guard record.kind == .file else { return }
        if record.presence == .whole { try trash.move(record.id) }
        try onDisk("remove the content of inode \(record.id)") { () throws(DiskError) in
            try disk.remove(StateFiles.content(of: record.id))
        }
    }

    private func removeRows(of records: [InodeRecord]) throws(Halt) {
        let isToDo = { (database: Database) in
            try records.contains { record in
                try record.presence != .remote || record.isWriting
                    || !database.isNeeded(record.id)
            }
        }
        // Most of what is deleted here was never here, and goes once the remote has deleted it too.
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
    /// Whether the synchroniser needs to know of an inode without a name. What is pending may be on
    /// its way to the remote right now; it is found unlinked, and forgotten.
    fileprivate func isNeeded(_ inode: InodeNumber) throws -> Bool {
        try isPending(inode) || synced(inode) != nil
    }

    /// Inodes without a name of which more is here than the synchroniser needs, ascending.
    fileprivate func unreaped(after inode: InodeNumber, limit: Int) throws -> [InodeNumber] {
        let statement = try cachedStatement(
            sql: """
                SELECT id FROM inodes WHERE links = 0 AND id > ? AND (
                    presence > 0 OR writing = 1 OR NOT EXISTS (
                        SELECT 1 FROM pending WHERE inode = id
                        UNION ALL SELECT 1 FROM synced WHERE inode = id))
                ORDER BY id LIMIT ?
                """)
        return try Int64.fetchAll(statement, arguments: [inode.rawValue, limit])
            .map { InodeNumber(rawValue: $0) }
    }
}
