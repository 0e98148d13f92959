import Logging
import Synchronization

/// The content of files: open, read, write, truncate, freeze and close.
final class ContentStore: Sendable {
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
    let readAhead: ReadAheadQueue

    init(
        configuration: EngineConfiguration, store: Store, disk: any Disk, clock: any Clock,
        logger: Logger, files: OpenFileTable, snapshots: Snapshots, space: Space,
        durability: Durability, reaper: Reaper, agenda: Agenda, readAhead: ReadAheadQueue
    ) {
        self.configuration = configuration
        self.store = store
        self.disk = disk
        self.clock = clock
        self.logger = logger
        self.files = files
        self.snapshots = snapshots
        self.space = space
        self.durability = durability
        self.reaper = reaper
        self.agenda = agenda
        self.readAhead = readAhead
    }

    /// Adds a user of a file's content; ``releaseUse(of:)`` removes it.
    func retain(_ inode: InodeNumber) throws(Blocked) -> OpenFile {
        // Others should not wait for that, as they do during ``load(_:)``.
        if durability.isEvictionUnsynced(inode) { try durability.keepEvictionsSafe() }
        if files.existing(inode) == nil { disk.awaitDescriptors() }
        return try files.retain(inode) { () throws(Blocked) in try load(inode) }
    }

    /// Opens a file for writing that has just been created, so that its row need not be read.
    func openNew(_ record: InodeRecord) throws(Blocked) {
        disk.awaitDescriptors()
        let file = try files.retain(record.id) { () throws(Blocked) in
            try load(StoredFile(record: record, isPending: true, isNew: true))
        }
        do throws(Blocked) {
            try addWriter(to: file)
        } catch {
            releaseUse(of: record.id)
            throw error
        }
    }

    /// - Parameter isFetch: Whether it is one of ``OpenFileTable/retainToFetch(_:)``.
    func releaseUse(of inode: InodeNumber, isFetch: Bool = false) {
        files.release(inode, isFetch: isFetch) { file in
            do throws(Blocked) {
                try file.withState { state throws(Blocked) in
                    state.isClosed = true
                    do throws(Blocked) {
                        try storePresence(inode, &state)
                        try storeSpace(inode, &state)
                    } catch {
                        space.cache.noteUnrecorded(inode, state)
                        throw error
                    }
                    space.cache.noteRecorded(&state)
                }
                space.cache.noteClosed()
                try noteAccess(of: file)
            } catch {
                // Fetched bytes are fetched again; written bytes are stored already.
                logger.warning(
                    "state of closed file not stored",
                    metadata: ["inode": "\(inode)", "reason": "\(error)"])
            }
            guard file.isUnlinked.load(ordering: .relaxed) else { return }
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
            let isForgotten = try files.withExclusive(inode) { () throws(Blocked) in
                try forgetLostBytes(of: inode)
            }
            // Even if the request fails, after which the kernel keeps the former size.
            if isForgotten == true { space.kernelCache.announce([.inode(inode)]) }
            return try retain(inode)
        }
    }

    /// A variant of ``retain(_:)`` for a program that opens a file, to truncate it to nothing or not.
    ///
    /// - Throws: `.changedRemotely` for an inode that no longer exists: the kernel knew its name, and
    ///   looks it up again.
    func retainToOpen(
        _ inode: InodeNumber, toEmpty isTruncating: Bool
    ) throws(Blocked) -> OpenFile {
        do throws(Blocked) {
            return isTruncating ? try retainToEmpty(inode) : try retain(inode)
        } catch {
            guard case .failure(let failure) = error, failure.kind == .notFound else { throw error }
            throw .failure(.changedRemotely, "open inode \(inode)", cause: failure)
        }
    }

    /// - Returns: Whether the file is empty now.
    private func forgetLostBytes(of inode: InodeNumber) throws(Blocked) -> Bool {
        let now = clock.wallTime
        return try store.write { database in
            var record = try database.existingInode(inode)
            guard record.presence != .remote, !record.isWriting else { return false }
            record.size = 0
            record.presence = .whole
            try database.setExtents(ExtentSet(), of: inode)
            (record.modified, record.changed) = (now, now)
            record.generation += 1
            try database.update(record)
            try database.markPending(
                inode, at: now, due: agenda.due(after: configuration.settleTime))
            try database.setFailure(nil, attempts: 0, of: inode)
            try database.record(.changed, on: .local, inode, at: now)
            return true
        }
    }

    func withFile<Value>(
        _ inode: InodeNumber, _ body: (OpenFile) throws(Blocked) -> Value
    ) throws(Blocked) -> Value {
        let file = try retain(inode)
        defer { releaseUse(of: inode) }
        return try body(file)
    }

    /// The state of a file in the database.
    private struct StoredFile {
        let record: InodeRecord
        /// The bytes of a partial file that are here.
        var extents = ExtentSet()
        /// Whether it is being written and has changes that are only here.
        let isPending: Bool
        /// Whether it has no content file yet.
        var isNew = false
        /// The space that its content takes, as recorded.
        var bytes: UInt64 = 0
    }

    private func load(_ inode: InodeNumber) throws(Blocked) -> OpenFile {
        // It is measured below.
        space.cache.forgetUnrecorded(inode)
        let stored = try store.readBriefly { database in
            let record = try database.existingInode(inode)
            return StoredFile(
                record: record,
                extents: record.presence == .partial
                    ? try database.extents(of: inode) : ExtentSet(),
                isPending: try record.isWriting && database.isOnlyHere(inode),
                bytes: record.presence == .remote ? 0 : try database.localBytes(of: inode))
        }
        return try load(stored)
    }

    private func load(_ stored: StoredFile) throws(Blocked) -> OpenFile {
        let (record, extents) = (stored.record, stored.extents)
        let inode = record.id
        guard record.kind == .file else {
            throw .failure(
                record.kind == .directory ? .isDirectory : .invalid,
                "open inode \(inode) as a file")
        }
        if record.presence == .remote, durability.isEvictionUnsynced(inode) {
            try durability.keepEvictionsSafe()
        }
        var file = try openContent(of: inode)
        let status = try onDisk("read the content size of inode \(inode)", do: file.status())
        let length = status.size
        if length > 0, try isForeign(record) {
            try LostAndFound(disk: disk).keep(StateFiles.content(of: inode), of: inode)
            return try load(inode)
        }
        let least = record.presence == .whole ? record.size : extents.end(below: record.size)
        if length < least, record.presence != .remote, !record.isWriting {
            // A power cut may bring back an evicted file without its bytes.
            if try space.forgetLost(inode, contentSize: length) { return try load(inode) }
            throw try damaged(record, length: length)
        }
        if record.presence == .remote, status.allocatedBytes > 0 {
            file = try replacedContent(of: inode)
        }
        // While it is being written, its size is the length that the last writer reached (I1).
        let isAbandoned = record.presence == .whole && record.isWriting && !stored.isNew
        let size = isAbandoned ? length : record.size
        try resize(file, of: inode, record.presence, from: length, to: size)
        var present = record.presence == .whole ? .everything : extents
        if record.presence == .remote { present.insert(record.size..<ExtentSet.endMax) }
        var state = OpenFile.State(
            file: file, size: size, modified: isAbandoned ? status.modified : record.modified,
            present: present,
            isMarkedWriting: record.isWriting, isMarkedUnsafe: record.isWriting,
            // A file without changes is marked as pending by its first change.
            isChanged: stored.isPending,
            stored: record.presence,
            reads: ReadPositions(evidenceBytes: space.cache.randomBytes / 2),
            bytesUsed: stored.bytes, bytesRecorded: stored.bytes)
        // A killed process may not have recorded the last bytes.
        if record.presence != .remote, status.allocatedBytes != stored.bytes {
            space.cache.measure(&state)
        }
        let opened = OpenFile(
            inode: inode, accessed: record.accessed,
            mayHaveSetID: record.mode.withoutSetID != record.mode, state: state)
        if record.links == 0 { opened.isUnlinked.store(true, ordering: .relaxed) }
        return opened
    }

    private func openContent(of inode: InodeNumber) throws(Blocked) -> any DiskFile {
        try onDisk(
            "open the content of inode \(inode)", do: disk.open(StateFiles.content(of: inode)))
    }

    /// Opens an empty content file in the place of one that is evicted, but not removed yet: a program may
    /// still have that one mapped.
    private func replacedContent(of inode: InodeNumber) throws(Blocked) -> any DiskFile {
        try onDisk(
            "remove the content of inode \(inode)", do: disk.remove(StateFiles.content(of: inode)))
        return try openContent(of: inode)
    }

    /// Gives a content file the length of its file when it is opened.
    private func resize(
        _ file: any DiskFile, of inode: InodeNumber, _ presence: Presence, from length: UInt64,
        to size: UInt64
    ) throws(Blocked) {
        try onDisk("resize the content of inode \(inode)") { () throws(DiskError) in
            if presence == .remote { try file.truncate(to: 0) }
            // Reads extend to the size of the file, so the content file gets its full length at
            // once. That of a whole one may be longer, if a truncation did not reach the disk: the
            // bytes beyond the end would reappear as the file grows.
            if presence != .whole || length > size { try file.truncate(to: size) }
        }
        if presence != .whole { file.expectHoles(true) }
    }

    /// Whether a content file cannot be of this version of a file, as the database was damaged: its bytes
    /// may be the only copy.
    private func isForeign(_ record: InodeRecord) throws(Blocked) -> Bool {
        guard record.presence == .remote else { return false }
        return try store.readBriefly { try $0.isChangedHere(record) }
    }

    /// Returns the error of a file whose content file is too short. It was damaged from outside; zeros
    /// must not pass for its bytes (I5).
    private func damaged(_ record: InodeRecord, length: UInt64) throws(Blocked) -> Blocked {
        let isChanged = try store.readBriefly { try $0.isOnlyHere(record.id) }
        return .failure(
            .damaged,
            "open inode \(record.id): its content file has \(length) of \(record.size) bytes",
            remedy: isChanged
                ? SyncFailure.lostBytesRemedy : "run `apus evict` to fetch it again")
    }
}
