import Logging

/// Makes content survive power loss (I1, I5).
///
/// Written or fetched bytes are marked unsafe and synchronised a few seconds later. After a restart
/// of the machine, bytes that are still unsafe are not trusted, see ``Recovery``.
struct Durability: Sendable {
    let store: Store
    let disk: any Disk
    let logger: Logger
    let suspects: SuspectContent
    /// Evicted inodes whose eviction may not survive a power cut yet.
    private let evictionsUnsynced = Locked<Set<InodeNumber>>([])
    /// Files that were written and are not synchronised yet, open from before the first write on: a
    /// file opened later may not learn of a failure that the kernel has reported already.
    private let writtenFiles = Locked<[InodeNumber: any DiskFile]>([:])
    /// Files that the disk has failed to store, as long as the database cannot record that.
    private let unrecorded = Locked<Set<InodeNumber>>([])
    /// Held during a pass: another one would count what this one has yet to synchronise as safe.
    private let pass = Locked(())

    init(store: Store, disk: any Disk, logger: Logger) {
        self.store = store
        self.disk = disk
        self.logger = logger
        suspects = SuspectContent(store: store)
    }

    /// Synchronises the remaining files at shutdown, after the last write.
    func keepPendingSafe() {
        do throws(Blocked) {
            try recordFailures()
            let inodes = try store.read { try $0.unsafePending(limit: Self.singleFilesMax + 1) }
            if inodes.count > Self.singleFilesMax { return try keepSafe() }
            let failed = try unsynchronized(of: inodes, isAllStored: false)
            let stored = inodes.filter { !failed.contains($0) }
            if !stored.isEmpty {
                try store.write { database in
                    for inode in stored { try database.markSafe(inode) }
                }
            }
            try store.synchronize()
        } catch {
            logger.warning("content not synchronized", metadata: ["reason": "\(error)"])
        }
    }

    private static var singleFilesMax: Int { 256 }

    /// Synchronises the content of some files, each for itself: a bad one does not hold up the others.
    ///
    /// - Parameter isAllStored: Whether the whole disk was synchronised, so that only failures are left
    ///   to look for.
    /// - Returns: The files that are not safe.
    private func unsynchronized(
        of inodes: [InodeNumber], isAllStored: Bool
    ) throws(Blocked) -> Set<InodeNumber> {
        var left: Set<InodeNumber> = []
        for inode in inodes {
            let written = writtenFiles.withLock { $0[inode] }
            do throws(DiskError) {
                let file: any DiskFile
                if let written {
                    file = written
                } else {
                    file = try disk.open(StateFiles.content(of: inode))
                }
                do throws(DiskError) {
                    if isAllStored { try file.requireStored() } else { try file.synchronize() }
                } catch {
                    left.insert(inode)
                    noteFailure(of: inode, error)
                }
                if let written { close(written, of: inode) }
            } catch {
                // It could not be opened; its bytes may be all right.
                left.insert(inode)
                logger.warning(
                    "content not synchronized yet",
                    metadata: ["inode": "\(inode)", "reason": "\(error.attempt): \(error.reason)"])
            }
        }
        return left
    }

    /// Records files whose bytes the database has just forgotten.
    func noteEvictions(_ inodes: [InodeNumber]) {
        evictionsUnsynced.withLock { $0.formUnion(inodes) }
        writtenFiles.withLock { files in
            for inode in inodes { files[inode] = nil }
        }
    }

    func isEvictionUnsynced(_ inode: InodeNumber) -> Bool {
        evictionsUnsynced.withLock { $0.contains(inode) }
    }

    /// Ensures that no power cut restores evicted bytes. If it did so after new bytes had begun to
    /// arrive, torn bytes would pass for whole ones.
    func keepEvictionsSafe() throws(Blocked) {
        let evicted = evictionsUnsynced.withLock { $0 }
        guard !evicted.isEmpty else { return }
        try store.synchronize()
        evictionsUnsynced.withLock { $0.subtract(evicted) }
    }

    /// Synchronises the content of files that are no longer being written, and then the database: with the
    /// marks that the content is there, and with all other changes. Nothing else may need them on the disk
    /// for hours, as while nothing is sent.
    func keepSafe() throws(Blocked) {
        try pass.withLock { _ throws(Blocked) in try synchronizeWritten() }
        try store.synchronize()
    }

    private func synchronizeWritten() throws(Blocked) {
        try recordFailures()
        try forgetRemoved()
        guard try store.read({ try $0.hasUnsafe() }) else { return }
        try store.write { try $0.beginSynchronizing() }
        var last = InodeNumber(rawValue: 0)
        var isAllStored = false
        while true {
            let inodes = try store.read {
                try $0.synchronizing(after: last, limit: Self.singleFilesMax + 1)
            }
            if inodes.count > Self.singleFilesMax, !isAllStored {
                // Few files are synchronised one by one, since synchronising a whole busy file system
                // takes long. If that fails, each file is synchronised, to find the bad ones.
                isAllStored = (try? disk.synchronizeAll()) != nil
            }
            let left = try unsynchronized(of: inodes, isAllStored: isAllStored)
            if !left.isEmpty {
                try store.write { database in
                    for inode in left { try database.postponeSynchronizing(inode) }
                }
            }
            guard inodes.count > Self.singleFilesMax, let end = inodes.last else { break }
            last = end
        }
        try store.write { try $0.endSynchronizing() }
    }

    // MARK: Written files

    /// The maximum number of ``writtenFiles``, well below the number of descriptors for content: an idle
    /// descriptor is closed after a sync only, which a burst of new files must not cost.
    private static var writtenMax: Int { 256 }

    /// Records that bytes are about to change, so that a power cut meanwhile is detected.
    func markUnsafe(_ inode: InodeNumber, _ state: inout OpenFile.State) throws(Blocked) {
        guard !state.isMarkedUnsafe else { return }
        if try store.write({ try $0.markUnsafe(inode, isChanged: true) }) {
            try store.synchronize()
        }
        state.isMarkedUnsafe = true
        keepOpen(inode, state.file)
    }

    /// Records a writer of a file. One that was just created is marked as unsafe already.
    func noteWriter(of inode: InodeNumber, _ state: OpenFile.State) {
        if state.isMarkedUnsafe { keepOpen(inode, state.file) }
    }

    /// Keeps a file open until it is safe: a new descriptor would not show earlier failures.
    private func keepOpen(_ inode: InodeNumber, _ file: any DiskFile) {
        writtenFiles.withLock { files in
            if files.count < Self.writtenMax || files[inode] != nil { files[inode] = file }
        }
    }

    /// Closes a file, unless a writer has opened it again since.
    private func close(_ written: any DiskFile, of inode: InodeNumber) {
        writtenFiles.withLock { files in
            if files[inode] === written { files[inode] = nil }
        }
    }

    /// Closes a file whose bytes are removed, so that the disk frees their space.
    func forgetWritten(_ inode: InodeNumber) {
        _ = writtenFiles.withLock { $0.removeValue(forKey: inode) }
    }

    /// Closes the files that are safe or removed.
    func forgetRemoved() throws(Blocked) {
        let inodes = writtenFiles.withLock { Array($0.keys) }
        if inodes.isEmpty { return }
        let left = try store.read { database in
            try inodes.filter { try !database.isUnsafe($0) || database.isUnstored($0) }
        }
        for inode in left { forgetWritten(inode) }
    }

    /// Records that a program has synchronised a file.
    ///
    /// - Parameter before: The numbers when that began. Later changes may be on their way to the disk still.
    func noteSynchronized(_ file: OpenFile, since before: OpenFile.Counts) throws(Blocked) {
        try file.withState { state throws(Blocked) in
            let isSafe = state.counts.changes == before.changes
            if state.counts.stored != before.stored {
                // From now on the database's record of its local bytes is trusted after a power cut; bytes
                // that were recorded meanwhile, as fetched ones at a close, are on the disk only now.
                try synchronize(file.inode, state.file)
            }
            try store.write { database in
                guard try database.isOnlyHere(file.inode) else { return }
                try database.markFsynced(file.inode, isSafe: isSafe)
            }
        }
    }

    // MARK: Failures

    /// Writes a file again if it is suspect.
    func rewrite(_ file: OpenFile) throws(Blocked) {
        guard try suspects.rewrite(file) else { return }
        keepOpen(file.inode, file.state.withLock(\.file))
    }

    /// Synchronises a file for a program, or before the database records more of it.
    ///
    /// - Throws: Also if the disk has failed to store bytes of it before that the remote lacks.
    func synchronize(_ inode: InodeNumber, _ content: any DiskFile) throws(Blocked) {
        let attempt = "synchronize inode \(inode)"
        let isUnstored = try store.readBriefly { database in
            try (isUnrecorded(inode) || database.isUnstored(inode)) && database.isOnlyHere(inode)
        }
        if isUnstored {
            let failure = SyncFailure.unstored("inode \(inode)")
            throw .failure(.failed, "\(attempt): \(failure.why)", remedy: failure.remedy)
        }
        do throws(DiskError) {
            try content.synchronize()
        } catch {
            noteFailure(of: inode, error)
            throw .failure(EngineError(error, attempt))
        }
    }

    /// Forgets that the disk has failed to store a file, as the file was emptied.
    func forgetFailure(of inode: InodeNumber) throws(Blocked) {
        _ = unrecorded.withLock { $0.remove(inode) }
        guard try store.readBriefly({ try $0.isUnstored(inode) || $0.isSuspect(inode) }) else {
            return
        }
        try store.write { try $0.forgetUnstored(inode) }
    }

    private func isUnrecorded(_ inode: InodeNumber) -> Bool {
        unrecorded.withLock { $0.contains(inode) }
    }

    /// Records that the disk could not store bytes of a file. The kernel reports that once, and takes
    /// the bytes for stored afterwards, so it is kept in the database, as soon as that can be written.
    private func noteFailure(of inode: InodeNumber, _ error: DiskError) {
        logger.error(
            "the disk has failed to store a file",
            metadata: ["inode": "\(inode)", "reason": "\(error.attempt): \(error.reason)"])
        guard error.kind == .failed || error.kind == .full else { return }
        _ = unrecorded.withLock { $0.insert(inode) }
        do throws(Blocked) {
            try recordFailures()
        } catch {
            logger.warning("failure of the disk not recorded yet", metadata: ["reason": "\(error)"])
        }
    }

    private func recordFailures() throws(Blocked) {
        let inodes = unrecorded.withLock { $0 }
        if inodes.isEmpty { return }
        try store.write { database in
            for inode in inodes where try database.inode(inode) != nil {
                try database.markUnstored(inode)
            }
        }
        unrecorded.withLock { $0.subtract(inodes) }
    }
}
