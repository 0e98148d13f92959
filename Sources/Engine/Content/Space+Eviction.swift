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

    private func evictFile(_ record: InodeRecord, _ report: inout EvictionReport) throws(Blocked) {
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
        var wasSafe = false
        let refusal = try store.write { database -> Eviction? in
            guard var record = try database.inode(inode), record.presence != .remote else {
                return .nothingHere
            }
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
            // The database is updated first: bytes that it does not record are fetched again.
            record.presence = .remote
            try database.update(record)
            try database.setExtents(ExtentSet(), of: inode)
            wasSafe = try database.forgetDurability(of: inode)
            return nil
        }
        if let refusal { return refusal }
        if wasSafe { durability.evictionsUnsynced.withLock { _ = $0.insert(inode) } }
        let path = StateFiles.content(of: inode)
        let bytes = try onDisk("evict inode \(inode)") { () throws(DiskError) in
            let bytes = try disk.open(path).status().allocatedBytes
            try disk.remove(path)
            return bytes
        }
        return .evicted(bytes: bytes)
    }
}
