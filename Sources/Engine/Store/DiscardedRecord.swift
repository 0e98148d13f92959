import GRDB

/// One row of `discarded`: a file without a name that is to be moved to the trash.
struct DiscardedRecord {
    var name: FileName
    /// The time at which it lost its name.
    var time: Timestamp
}

extension Database {
    /// Marks a file that is about to lose its name for the trash, if all its bytes are local and fit it.
    func discard(
        _ inode: InodeNumber, _ dirent: Dirent, _ configuration: EngineConfiguration,
        at now: Timestamp
    ) throws {
        guard let record = try self.inode(inode), record.kind == .file, record.presence == .whole,
            record.size > 0, record.size <= configuration.trashBytesMax
        else { return }
        let path = ObjectKey(try self.path(of: dirent.parent) + [dirent.name])
        // The remote has a file still that is excluded from now on.
        if configuration.exclusions.contain(path.names, isDirectory: false) { return }
        try setDiscarded(DiscardedRecord(name: dirent.name, time: now), of: inode)
        try insertTrash(
            TrashRecord(
                of: record, at: path, time: now,
                extendedAttributes: try extendedAttributes(of: inode)))
    }

    private func setDiscarded(_ discarded: DiscardedRecord, of inode: InodeNumber) throws {
        try run(
            "INSERT OR REPLACE INTO discarded VALUES (?, ?, ?)",
            [inode, discarded.name, discarded.time])
    }

    func discarded(_ inode: InodeNumber) throws -> DiscardedRecord? {
        try row("SELECT name, time FROM discarded WHERE inode = ?", [inode]) {
            DiscardedRecord(name: $0[0], time: $0[1])
        }
    }

    /// Whether a file in the trash has its bytes at its former place still. Its inode may stay after that, until
    /// the remote has deleted it too.
    func isMovingToTrash(_ inode: InodeNumber) throws -> Bool {
        try self.inode(inode).map { $0.presence != .remote } ?? false
    }

    /// Whether the bytes of a file that is to be moved to the trash are not on the disk yet.
    func isDiscardedUnsafely(_ inode: InodeNumber) throws -> Bool {
        try hasRow(
            """
            discarded JOIN unsynced ON unsynced.inode = discarded.inode
            WHERE discarded.inode = ? AND state < 2 AND failed = 0
            """, [inode])
    }

    /// Removes the rows of files that may be torn after a power failure: these are not worth
    /// keeping.
    func forgetUnsafeDiscarded() throws {
        for table in ["trash", "discarded"] {
            try run(
                """
                DELETE FROM \(table) WHERE inode IN (
                    SELECT discarded.inode FROM discarded
                    JOIN unsynced ON unsynced.inode = discarded.inode WHERE state < 2)
                """)
        }
    }
}
