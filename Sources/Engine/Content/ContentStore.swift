import Logging
import Synchronization

/// The content of files: open, read, write, truncate, freeze and close.
struct ContentStore: Sendable {
    let configuration: EngineConfiguration
    let store: Store
    let disk: any Disk
    let clock: any Clock
    let logger: Logger
    let files: OpenFileTable
    let snapshots: Snapshots
    let space: Space
    let durability: Durability
    let reaper: Reaper
    let agenda: Agenda
    let fillQueue: FillQueue

    /// Adds a user of a file's content; ``releaseUse(of:)`` removes it.
    func retain(_ inode: InodeNumber) throws(Blocked) -> OpenFile {
        try files.retain(inode) { () throws(Blocked) in try load(inode) }
    }

    func releaseUse(of inode: InodeNumber) {
        files.release(inode) { file in
            do throws(Blocked) {
                try file.withState { state throws(Blocked) in
                    state.isClosed = true
                    defer { space.cache.noteRecorded(&state) }
                    try storePresence(inode, &state)
                    try storeSpace(inode, &state)
                }
                space.cache.noteClosed()
                try noteAccess(of: file)
            } catch {
                // Fetched bytes are fetched again; written bytes are stored already.
                logger.warning(
                    "state of closed file not stored",
                    metadata: ["inode": "\(inode)", "reason": "\(error)"])
            }
            do throws(Blocked) {
                try reaper.reapUnused(inode)
            } catch {
                // The next start removes it.
                logger.warning(
                    "removed content kept", metadata: ["inode": "\(inode)", "reason": "\(error)"])
            }
        }
    }

    /// Records the space that a file takes when it is closed, and releases that of bytes which were
    /// not fetched to the end.
    private func storeSpace(
        _ inode: InodeNumber, _ state: inout OpenFile.State
    ) throws(Blocked) {
        if state.stored == .remote, !state.isMarkedWriting {
            guard state.bytesUsed > 0 else { return }
            try onDisk("empty the content of inode \(inode)", do: state.file.truncate(to: 0))
            return space.cache.measure(&state)
        }
        guard state.bytesUsed != state.bytesRecorded else { return }
        let bytes = state.bytesUsed
        try store.write { database in
            guard try database.inode(inode) != nil else { return }
            try database.setLocalBytes(bytes, of: inode)
        }
    }

    /// Records the time of last use to the minute.
    private func noteAccess(of file: OpenFile) throws(Blocked) {
        let now = clock.wallTime
        let age = now.nanoseconds.subtractingReportingOverflow(file.accessed.nanoseconds)
        guard age.overflow || !(0..<60_000_000_000).contains(age.partialValue) else { return }
        try space.uses.note(file.inode, at: now)
    }

    /// A variant of ``retain(_:)`` for callers that truncate the file to nothing and so need none
    /// of its bytes: lost bytes are no error.
    func retainToEmpty(_ inode: InodeNumber) throws(Blocked) -> OpenFile {
        do throws(Blocked) {
            return try retain(inode)
        } catch {
            guard case .failure(let failure) = error, failure.kind == .damaged else { throw error }
            _ = try files.withExclusive(inode) { () throws(Blocked) in
                try forgetLostBytes(of: inode)
            }
            return try retain(inode)
        }
    }

    private func forgetLostBytes(of inode: InodeNumber) throws(Blocked) {
        let now = clock.wallTime
        try store.write { database in
            var record = try database.existingInode(inode)
            guard record.presence == .whole, !record.isWriting else { return }
            record.size = 0
            (record.modified, record.changed) = (now, now)
            record.generation += 1
            try database.update(record)
            try database.markPending(
                inode, at: now, due: agenda.due(after: configuration.settleTime))
            try database.setFailure(nil, attempts: 0, of: inode)
        }
    }

    func withFile<Value>(
        _ inode: InodeNumber, _ body: (OpenFile) throws(Blocked) -> Value
    ) throws(Blocked) -> Value {
        let file = try retain(inode)
        defer { releaseUse(of: inode) }
        return try body(file)
    }

    private func load(_ inode: InodeNumber) throws(Blocked) -> OpenFile {
        let (record, extents, isPending, bytes) = try store.read { database in
            let record = try database.existingInode(inode)
            let extents =
                record.presence == .partial ? try database.extents(of: inode) : ExtentSet()
            return (
                record, extents, try record.isWriting && database.isPending(inode),
                record.presence == .remote ? 0 : try database.localBytes(of: inode)
            )
        }
        guard record.kind == .file else {
            throw .failure(
                record.kind == .directory ? .isDirectory : .invalid,
                "open inode \(inode) as a file")
        }
        if record.presence == .remote, durability.evictionsUnsynced.withLock({ $0.contains(inode) })
        {
            try durability.keepEvictionsSafe()
        }
        let file = try onDisk("open the content of inode \(inode)") { () throws(DiskError) in
            let file = try disk.open(StateFiles.content(of: inode))
            if record.presence == .remote { try file.truncate(to: 0) }
            // Reads extend to the size of the file, so the content file gets its full length at
            // once.
            if record.presence != .whole { try file.truncate(to: record.size) }
            return file
        }
        let size = try size(of: record, in: file)
        var present = record.presence == .whole ? .everything : extents
        if record.presence == .remote { present.insert(record.size..<ExtentSet.endMax) }
        return OpenFile(
            inode: inode, accessed: record.accessed,
            mayHaveSetID: record.mode.withoutSetID != record.mode,
            state: OpenFile.State(
                file: file, size: size, modified: record.modified, present: present,
                isMarkedWriting: record.isWriting, isMarkedUnsafe: record.isWriting,
                // A file without changes is marked as pending by its first change.
                isChanged: record.isWriting && isPending,
                stored: record.presence, bytesUsed: bytes, bytesRecorded: bytes))
    }

    /// Returns the size of a file; while it is being written, that is the length of its content
    /// file, which the last writer reached (I1).
    ///
    /// - Throws: `.damaged` if the content file is too short. It was damaged from outside; zeros must
    ///   not pass for its bytes (I5).
    private func size(of record: InodeRecord, in file: any DiskFile) throws(Blocked) -> UInt64 {
        guard record.presence == .whole else { return record.size }
        let size = try onDisk("read the content size of inode \(record.id)", do: file.status().size)
        if record.isWriting { return size }
        if size > record.size {
            // A truncation that did not reach the disk: the bytes beyond the end would reappear as
            // the file grows.
            try onDisk(
                "truncate the content of inode \(record.id)", do: file.truncate(to: record.size))
        }
        guard size < record.size else { return record.size }
        let isChanged = try store.read { try $0.isPending(record.id) }
        throw .failure(
            .damaged,
            "open inode \(record.id): its content file has \(size) of \(record.size) bytes",
            remedy: isChanged
                ? SyncFailure.lostBytesRemedy : "run `apus evict` to fetch it again")
    }
}
