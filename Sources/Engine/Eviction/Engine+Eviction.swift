import GRDB
import Logging
import Synchronization

/// What evicting did.
package struct EvictionReport: Sendable {
    package var files = 0
    package var bytesFreed: UInt64 = 0
    /// What was not evicted, each with its path and the reason.
    package var refused: [(path: String, reason: String)] = []
}

extension Engine {
    /// Drops the local bytes of a file, or of all files below a directory. What is not on the
    /// remote yet, or in use, is refused and stays.
    package func evict(_ inode: InodeNumber) throws(EngineError) -> EvictionReport {
        var report = EvictionReport()
        do throws(Halt) {
            try evict(inode, &report)
        } catch {
            throw error.failure
        }
        return report
    }

    private func evict(_ inode: InodeNumber, _ report: inout EvictionReport) throws(Halt) {
        let record = try store.read { try $0.existingInode(inode) }
        switch record.kind {
        case .symlink: return
        case .file: try evictFile(record, &report)
        case .directory:
            var cookie: Int64 = 0
            while true {
                let page = try store.read {
                    try $0.entries(of: inode, after: cookie, limit: 1_000)
                }
                for (_, child) in page where child.kind != .symlink {
                    try evict(child.id, &report)
                }
                guard let last = page.last else { return }
                cookie = last.0.cookie
            }
        }
    }

    private func evictFile(_ record: InodeRecord, _ report: inout EvictionReport) throws(Halt) {
        switch try evictFile(record.id) {
        case .evicted(let bytes):
            report.files += 1
            report.bytesFreed += bytes
        case .nothingHere: break
        case .refused(let reason):
            let path = try store.read { try $0.path(of: record.id) }
            report.refused.append((ObjectKey(path).description, reason))
        }
    }

    private static var unsentReason: String {
        "it has changes that are not on the remote yet; run `apus sync` first"
    }

    enum Eviction {
        case evicted(bytes: UInt64)
        case nothingHere
        case refused(String)
    }

    /// Drops the bytes of one file, if they are on the remote and nobody uses them (I2).
    func evictFile(_ inode: InodeNumber) throws(Halt) -> Eviction {
        let eviction = try files.withExclusive(inode) { () throws(Halt) in
            try evictUnused(inode)
        }
        guard let eviction else {
            let isDirty = try store.read { try $0.isPending(inode) }
            return .refused(isDirty ? Self.unsentReason : "it is open; close it first")
        }
        // The kernel's copy of the bytes goes too, so that the memory is free as well.
        if case .evicted = eviction { announce([.inode(inode)]) }
        return eviction
    }

    private func evictUnused(_ inode: InodeNumber) throws(Halt) -> Eviction {
        var wasSafe = false
        let refusal = try store.write { database -> Eviction? in
            guard var record = try database.inode(inode), record.presence != .remote else {
                return .nothingHere
            }
            #if BUGS
                if DeliberateBug.evictDirty.isMade {
                    record.presence = .remote
                    try database.update(record)
                    return nil
                }
            #endif
            guard try !database.isPending(inode), !record.isWriting,
                let synced = try database.synced(inode), synced.etag != nil,
                synced.generation == record.generation
            else {
                let isLost = try database.pending(inode)?.failure?.kind == .damaged
                return .refused(
                    isLost
                        ? "its bytes are lost; \(SyncFailure.lostBytesRemedy)" : Self.unsentReason)
            }
            guard record.size > 0 else { return .nothingHere }
            // The database goes first: bytes that it does not know are fetched again.
            record.presence = .remote
            try database.update(record)
            try database.setExtents(ExtentSet(), of: inode)
            wasSafe = try database.forgetDurability(of: inode)
            return nil
        }
        if let refusal { return refusal }
        if wasSafe { evictionsUnsynced.withLock { _ = $0.insert(inode) } }
        let path = OpenFile.path(of: inode)
        let bytes = try onDisk("evict inode \(inode)") { () throws(DiskError) in
            let bytes = try disk.open(path).status().allocatedBytes
            try disk.remove(path)
            return bytes
        }
        return .evicted(bytes: bytes)
    }

    // MARK: The bound of the cache

    /// Keeps what is here under the bound, dropping first what was used least recently, and clears
    /// away what nobody will come back to.
    func runEvictor() async {
        var pruned: (rings: UInt64, next: Duration)?
        while !Task.isCancelled {
            do throws(Halt) {
                if pruned.map({ $0.rings != trashBell.rings || $0.next <= clock.uptime }) ?? true {
                    pruned = (trashBell.rings, clock.uptime + .seconds(3600))
                    try pruneTrash()
                }
                try evictDownToBound()
                try keepBallast()
            } catch {
                logger.warning("eviction failed", metadata: ["reason": "\(error)"])
            }
            do {
                try await clock.sleep(until: clock.uptime + .seconds(5))
            } catch {
                return
            }
        }
    }

    private func evictDownToBound() throws(Halt) {
        let bound = configuration.cacheBytesMax
        let total = try store.read { try $0.presentBytes() }
        guard total > bound else { return }
        let freed = try evictLeastRecentlyUsed(atLeast: total - bound)
        if freed < total - bound {
            logger.debug("cache over its bound", metadata: ["bytes": "\(total - freed)"])
        }
    }
}

extension Database {
    /// The sizes of all files of which something is here, in bytes; more than they take where they
    /// are partial.
    func presentBytes() throws -> UInt64 {
        let sum = try Int64.fetchOne(
            cachedStatement(sql: "SELECT coalesce(sum(size), 0) FROM inodes WHERE presence > 0"))
        return UInt64(stored: sum ?? 0)
    }

    /// Files of which something is here that the remote has too, those used least recently first.
    func leastRecentlyUsed(
        after last: (accessed: Int64, inode: Int64), limit: Int
    ) throws -> [(accessed: Int64, inode: Int64)] {
        let statement = try cachedStatement(
            sql: """
                SELECT accessed, id FROM inodes
                WHERE presence > 0 AND size > 0 AND (accessed, id) > (?, ?)
                    AND writing = 0 AND id NOT IN (SELECT inode FROM pending)
                ORDER BY accessed, id LIMIT ?
                """)
        return try Row.fetchAll(statement, arguments: [last.accessed, last.inode, limit])
            .map { ($0[0], $0[1]) }
    }
}
