import Logging
import Synchronization

// Who has the content of a file in use, and how it comes from the disk for the first of them.

extension Engine {
    /// Adds a user of a file's content; ``releaseUse(of:)`` takes it away.
    func retain(_ inode: InodeNumber) throws(Halt) -> OpenFile {
        try files.retain(inode) { () throws(Halt) in try load(inode) }
    }

    func releaseUse(of inode: InodeNumber) {
        files.release(inode) { file in
            do throws(Halt) {
                try file.withState { state throws(Halt) in try storePresence(inode, &state) }
                try noteAccess(of: file)
                try reapUnused(inode)
            } catch {
                // Bytes that were fetched are fetched again; what was written is stored already.
                logger.warning(
                    "state of closed file not stored",
                    metadata: ["inode": "\(inode)", "reason": "\(error)"])
            }
        }
    }

    /// Keeps the order in which files were last used, to a minute, so that closing costs no
    /// transaction each time.
    private func noteAccess(of file: OpenFile) throws(Halt) {
        let now = clock.wallTime
        let age = now.nanoseconds.subtractingReportingOverflow(file.accessed.nanoseconds)
        guard age.overflow || !(0..<60_000_000_000).contains(age.partialValue) else { return }
        try store.write { try $0.touch(file.inode, at: now) }
    }

    /// ``retain(_:)`` for whoever cuts the file to nothing, which takes none of its bytes: those that
    /// are lost are given up.
    func retainToEmpty(_ inode: InodeNumber) throws(Halt) -> OpenFile {
        do throws(Halt) {
            return try retain(inode)
        } catch {
            guard case .failure(let failure) = error, failure.kind == .damaged else { throw error }
            _ = try files.withExclusive(inode) { () throws(Halt) in try forgetLostBytes(of: inode) }
            return try retain(inode)
        }
    }

    private func forgetLostBytes(of inode: InodeNumber) throws(Halt) {
        let now = clock.wallTime
        try store.write { database in
            var record = try database.existingInode(inode)
            guard record.presence == .whole, !record.isWriting else { return }
            record.size = 0
            (record.modified, record.changed) = (now, now)
            record.generation += 1
            try database.update(record)
            try database.markPending(inode, at: now)
            try database.setFailure(nil, attempts: 0, of: inode)
        }
    }

    func withFile<Value>(
        _ inode: InodeNumber, _ body: (OpenFile) throws(Halt) -> Value
    ) throws(Halt) -> Value {
        let file = try retain(inode)
        defer { releaseUse(of: inode) }
        return try body(file)
    }

    private func load(_ inode: InodeNumber) throws(Halt) -> OpenFile {
        let (record, extents, isPending) = try store.read { database in
            let record = try database.existingInode(inode)
            let extents =
                record.presence == .partial ? try database.extents(of: inode) : ExtentSet()
            return (record, extents, try record.isWriting && database.isPending(inode))
        }
        guard record.kind == .file else {
            throw .failure(
                record.kind == .directory ? .isDirectory : .invalid,
                "open inode \(inode) as a file")
        }
        if record.presence == .remote, evictionsUnsynced.withLock({ $0.contains(inode) }) {
            try keepEvictionsSafe()
        }
        let file = try onDisk("open the content of inode \(inode)") { () throws(DiskError) in
            let file = try disk.open(OpenFile.path(of: inode))
            if record.presence == .remote { try file.truncate(to: 0) }
            // Reads go as far as the file is long, so it has its full length from the start.
            if record.presence != .whole { try file.truncate(to: record.size) }
            return file
        }
        try requireContent(of: record, in: file)
        var size = record.size
        if record.presence == .whole, record.isWriting {
            // Whoever wrote last got no further than its bytes (I1).
            size = try onDisk("look at the content of inode \(inode)") { () throws(DiskError) in
                try file.status().size
            }
        }
        var present = record.presence == .whole ? .everything : extents
        if record.presence == .remote { present.insert(record.size..<ExtentSet.endMax) }
        return OpenFile(
            inode: inode, accessed: record.accessed,
            state: OpenFile.State(
                file: file, size: size, modified: record.modified, present: present,
                isMarkedWriting: record.isWriting, isMarkedUnsafe: record.isWriting,
                // One that nobody has changed yet is noted as pending by its first change.
                isChanged: record.isWriting && isPending,
                stored: record.presence))
    }

    /// A content file shorter than the file is one that something else has damaged; zeros must not
    /// pass for its bytes (I5).
    private func requireContent(of record: InodeRecord, in file: any DiskFile) throws(Halt) {
        guard record.presence == .whole, !record.isWriting else { return }
        let size = try onDisk("look at the content of inode \(record.id)") {
            () throws(DiskError) in try file.status().size
        }
        if size > record.size {
            // A cut that did not reach the disk: what lies beyond would come back as it grows.
            try onDisk("cut the content of inode \(record.id)") { () throws(DiskError) in
                try file.truncate(to: record.size)
            }
        }
        guard size < record.size else { return }
        let isChanged = try store.read { try $0.isPending(record.id) }
        throw .failure(
            .damaged,
            "open inode \(record.id): its content file has \(size) of \(record.size) bytes",
            remedy: isChanged
                ? SyncFailure.lostBytesRemedy : "have it fetched again with `apus evict`")
    }
}
