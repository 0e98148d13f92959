import Logging
import Synchronization

extension ContentStore {
    /// The size up to which a file is fetched whole before it is opened for writing.
    private static var smallBytes: UInt64 { 1 << 20 }

    /// The first bytes of a file, which a program reads to find out its kind.
    private static var scanBytes: UInt64 { 16 << 10 }

    /// Returns the bytes that opening a file waits for: the first one, if nothing of it is here.
    /// Before its first change all of a small file, as nothing could complete it once the remote has
    /// replaced it.
    func awaited(of file: OpenFile, for access: FileAccess) -> Range<UInt64>? {
        file.state.withLock { state in
            guard !state.isMarkedWriting, !state.isWhole else { return nil }
            if access == .write, state.size <= Self.smallBytes { return 0..<state.size }
            guard state.presence == .remote else { return nil }
            guard access == .scan else { return 0..<1 }
            // A tiny cache cannot hold more for a request at once.
            return 0..<min(state.size, Self.scanBytes, space.cache.demandBytes)
        }
    }

    func release(_ inode: InodeNumber, access: FileAccess) {
        if access == .write, let file = files.existing(inode) {
            let isLast = file.state.withLock { state in
                state.writers -= 1
                return state.writers == 0
            }
            if isLast { settle(inode, file) }
        }
        releaseUse(of: inode)
    }

    /// Marks an inode as being written before a handle may write, so that a crash meanwhile is
    /// detected, and a remote change does not replace the inode while it is open.
    ///
    /// - Throws: `.changedRemotely` for an inode that lost its name to the remote meanwhile: the
    ///   kernel then looks the name up again. Once for a file with a conflict name, as it may have been
    ///   opened by its former name.
    func markWriting(_ inode: InodeNumber, _ state: inout OpenFile.State) throws(Blocked) {
        guard !state.isMarkedWriting else { return }
        // After a kill, the time of the content file is the time of the last write.
        try storeTime(inode, state)
        let isMarked = try store.write { database in
            guard try database.existingInode(inode).links > 0,
                !agenda.displaced.withLock({ $0.contains(inode) })
            else { return false }
            try database.markWriting(inode)
            return true
        }
        guard isMarked else {
            agenda.displaced.withLock { _ = $0.remove(inode) }
            throw .failure(.changedRemotely, "open inode \(inode) for writing")
        }
        state.isMarkedWriting = true
    }

    /// Completes a version after its last writer has closed: it is due after its settle time.
    func settle(_ inode: InodeNumber, _ file: OpenFile) {
        // Before the transaction, so that the version is not due earlier than announced.
        let size = file.state.withLock(\.size)
        let due = agenda.due(after: configuration.settleTime(ofBytes: size))
        do throws(Blocked) {
            try file.withState { state throws(Blocked) in
                guard state.writers == 0, state.isMarkedWriting else { return }
                // Other users may keep it open for long, and the remote may have deleted it
                // meanwhile.
                try storePresence(inode, &state)
                _ = try storeVersion(inode, &state)
            }
        } catch {
            // It stays marked as being written; the synchroniser tries again.
            logger.warning(
                "closed file not stored yet", metadata: ["inode": "\(inode)", "reason": "\(error)"])
        }
        agenda.notify(due: due)
    }

    /// Sets a file to the size and time of its content file and starts a new version.
    ///
    /// - Parameter isAfterPowerCut: Whether the content file may have lost its last time, unless a program
    ///   has synchronised it.
    func finishAbandonedWrite(
        _ inode: InodeNumber, isAfterPowerCut: Bool = false
    ) throws(Blocked) {
        // Its space is measured too, as the last measurement was lost with the process.
        let (status, isStored) = try onDisk("read the content size of inode \(inode)") {
            () throws(DiskError) in
            let file = try disk.open(StateFiles.content(of: inode))
            let status = try file.status()
            // An empty file has nothing to lose, so that a power cut need not take its name.
            let isStored = status.size == 0 && (try? file.synchronize()) != nil
            return (status, isStored)
        }
        try store.write { database in
            guard var record = try database.inode(inode), record.isWriting else { return }
            if isStored, record.presence == .whole { try database.markSafe(inode) }
            // A partial file's size is stored with its extents; its content file may be longer or
            // shorter.
            if record.presence == .whole { record.size = status.size }
            record.isWriting = false
            // A handle that wrote nothing changed nothing. For a file without local bytes, each
            // change was recorded when it was made.
            if record.presence != .remote {
                try database.setLocalBytes(status.allocatedBytes, of: inode)
            }
            if record.presence != .remote, try database.isOnlyHere(inode) {
                let isTimeLost = try isAfterPowerCut && !database.isFsynced(inode)
                record.modified =
                    isTimeLost ? max(record.modified, status.modified) : status.modified
                record.changed = max(record.changed, clock.wallTime)
                record.generation += 1
                try database.record(.changed, on: .local, inode, at: clock.wallTime)
            }
            try database.update(record)
        }
    }

    /// Adds a writer to a file that the caller has retained. If an upload is reading the file and the
    /// disk can share bytes, the upload continues from a clone (I3).
    func addWriter(to file: OpenFile) throws(Blocked) {
        try file.withState { state throws(Blocked) in
            snapshots.share(&state)
            try markWriting(file.inode, &state)
            durability.noteWriter(of: file.inode, state)
            state.writers += 1
        }
    }

    /// Stores the current version and freezes its content for an upload.
    func freeze(_ file: OpenFile) throws(Blocked) -> (FrozenContent, InodeRecord) {
        try file.withState { state throws(Blocked) in
            let record = try storeVersion(file.inode, &state)
            let frozen = snapshots.begin(file.inode, generation: record.generation, &state)
            return (frozen, record)
        }
    }
}
