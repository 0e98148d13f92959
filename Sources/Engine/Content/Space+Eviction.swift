import GRDB

/// The result of an eviction.
package struct EvictionReport: Sendable {
    package var files = 0
    package var bytesFreed: UInt64 = 0
    /// The files that were not evicted, each with its path and the reason.
    package var refused: [(path: String, reason: String)] = []
}

extension Space {
    func evict(_ inode: InodeNumber) throws(EngineError) -> EvictionReport {
        var report = EvictionReport()
        try completed(do: evict(inode, &report))
        return report
    }

    private func evict(_ inode: InodeNumber, _ report: inout EvictionReport) throws(Blocked) {
        switch try store.read({ try $0.existingInode(inode).kind }) {
        case .symlink: return
        case .file: try evictFile(inode, &report)
        case .directory: try evictFiles(below: inode, &report)
        }
    }

    /// Evicts the files below a directory. Only those with local bytes are looked at, so that the
    /// time depends on the cache, not on the tree.
    private func evictFiles(
        below directory: InodeNumber, _ report: inout EvictionReport
    ) throws(Blocked) {
        // The database may have no bytes of these yet.
        for file in files.all.map(\.inode).sorted()
        where try store.read({ try $0.isNamed(file, below: directory) }) {
            try evictFile(file, &report)
        }
        var last = InodeNumber(rawValue: 0)
        while true {
            let page = try store.read { database in
                try database.withLocalBytes(after: last, limit: 1_000).map { inode in
                    (inode, try database.isNamed(inode, below: directory))
                }
            }
            guard let end = page.last else { return }
            for (inode, isBelow) in page where isBelow && files.existing(inode) == nil {
                try evictFile(inode, &report)
            }
            last = end.0
        }
    }

    private func evictFile(
        _ inode: InodeNumber, _ report: inout EvictionReport
    ) throws(Blocked) {
        switch try evictFile(inode) {
        case .evicted(let bytes):
            report.files += 1
            report.bytesFreed += bytes
        case .nothingHere: break
        case .refused(let reason):
            let path = try store.read { try $0.path(of: inode) }
            report.refused.append((ObjectKey(path).description, reason))
        }
    }

    private static var unsentReason: String {
        "it has changes that are not on the remote yet; run `apus sync` first"
    }

    /// Drops files that the disk has failed to store and that the remote has: they are fetched again.
    func evictUnstored() throws(Blocked) {
        var last = InodeNumber(rawValue: 0)
        while true {
            let inodes = try store.read { try $0.unstored(after: last, limit: 100) }
            guard let end = inodes.last else { return }
            for inode in inodes { _ = try evictFile(inode) }
            last = end
        }
    }

    enum Eviction {
        case evicted(bytes: UInt64)
        case nothingHere
        case refused(String)
    }

    /// Drops the bytes of one file if they are on the remote and not in use (I2).
    func evictFile(_ inode: InodeNumber) throws(Blocked) -> Eviction {
        let eviction = try files.withExclusive(inode) { () throws(Blocked) in
            try evictUnused(inode)
        }
        guard let eviction else {
            let isDirty = try store.read { try $0.isPending(inode) }
            return .refused(isDirty ? Self.unsentReason : "it is open; close it first")
        }
        // The kernel's cached bytes are dropped too, to free the memory as well.
        if case .evicted = eviction { kernelCache.announce([.inode(inode)]) }
        return eviction
    }

    private func evictUnused(_ inode: InodeNumber) throws(Blocked) -> Eviction {
        var recorded: UInt64 = 0
        let refusal = try store.write { database -> Eviction? in
            guard var record = try database.inode(inode), record.presence != .remote else {
                return .nothingHere
            }
            guard try database.isEvictable(record) else {
                let isLost = try database.pending(inode)?.failure?.kind == .damaged
                return .refused(
                    isLost
                        ? "its bytes are lost; \(SyncFailure.lostBytesRemedy)" : Self.unsentReason)
            }
            guard try record.size > 0 || database.isUnstored(inode) else { return .nothingHere }
            recorded = try database.localBytes(of: inode)
            // The database is updated first: bytes that it does not record are fetched again.
            record.presence = .remote
            try database.update(record)
            try database.setExtents(ExtentSet(), of: inode)
            try database.forgetDurability(of: inode)
            return nil
        }
        if let refusal { return refusal }
        durability.evictionsUnsynced.withLock { _ = $0.insert(inode) }
        durability.forgetWritten(inode)
        let path = StateFiles.content(of: inode)
        let bytes = try cache.holding(recorded) { () throws(Blocked) in
            try onDisk("evict inode \(inode)") { () throws(DiskError) in
                let bytes = try disk.open(path).status().allocatedBytes
                try disk.remove(path)
                return bytes
            }
        }
        return .evicted(bytes: bytes)
    }
}

extension Database {
    /// Whether a file that has a name is at or below a directory.
    fileprivate func isNamed(_ inode: InodeNumber, below directory: InodeNumber) throws -> Bool {
        try dirent(of: inode) != nil && (directory == .root || isBelow(directory, inode))
    }
}
