import GRDB

// Deletions made here that are not sent yet.

extension Database {
    func pendingDeletionCount() throws -> Int {
        try value("SELECT count(*) \(Self.pendingDeletions)") ?? 0
    }

    /// Makes some of the pending deletions due, ascending.
    ///
    /// - Returns: The last one and their number; nil if there are no more.
    func enqueueDeletions(
        after inode: InodeNumber, limit: Int, due: Duration
    ) throws -> (last: InodeNumber, count: Int)? {
        let inodes = try pendingDeletions(after: inode, limit: limit)
        try makeDue(inodes, due: due)
        return inodes.last.map { ($0, inodes.count) }
    }

    private func pendingDeletions(after inode: InodeNumber, limit: Int) throws -> [InodeNumber] {
        try values(
            """
            SELECT pending.inode \(Self.pendingDeletions)
            WHERE pending.inode > ? ORDER BY pending.inode LIMIT ?
            """, [inode, limit])
    }

    /// Postpones deletions that are due earlier and were not tried yet.
    func postponeDeletions(after inode: InodeNumber, limit: Int, due: Duration) throws {
        try run(
            """
            UPDATE pending SET due = :due
            WHERE due < :due AND (what IS NULL OR kind IS 'busy') AND inode IN (
                SELECT pending.inode \(Self.pendingDeletions)
                WHERE pending.inode > :inode ORDER BY pending.inode LIMIT :limit)
            """, ["due": due.nanoseconds, "inode": inode, "limit": limit])
    }

    // MARK: Undoing

    /// Whether ``undoDeletions(after:limit:)`` was begun and not ended.
    func isUndoingDeletions() throws -> Bool { try hasRow("settings WHERE key = 'undoing'") }

    func setUndoingDeletions(_ isUndoing: Bool) throws {
        try run(
            isUndoing
                ? "INSERT OR REPLACE INTO settings VALUES ('undoing', '1')"
                : "DELETE FROM settings WHERE key = 'undoing'")
    }

    /// Returns the number of pending deletions that can be undone.
    func undoableDeletionCount() throws -> Int {
        try value(
            """
            SELECT count(*) \(Self.pendingDeletions)
            WHERE inodes.kind = \(FileKind.directory.rawValue)
                OR EXISTS (SELECT 1 FROM remote WHERE remote.inode = pending.inode AND gone = 0)
                OR \(Self.isUndoable)
            """) ?? 0
    }

    /// Makes some of the pending deletions, ascending, conflict with what the remote has, as agreed: so they
    /// are undone when they are planned. A directory comes back with the first item in it.
    ///
    /// - Returns: The last one, and the number of those that are undone; nil if there are no more.
    func undoDeletions(
        after inode: InodeNumber, limit: Int
    ) throws -> (last: InodeNumber, count: Int)? {
        let inodes = try pendingDeletions(after: inode, limit: limit)
        try run(
            """
            INSERT INTO remote (inode, gone, kind, etag, size, modified, mode, target, has_metadata, xattrs)
            SELECT pending.inode, 0, inodes.kind, synced.etag, synced.size, synced.modified,
                synced.mode, inodes.target, inodes.has_metadata, synced.xattrs
            \(Self.pendingDeletions)
            WHERE pending.inode IN (SELECT value FROM json_each(?)) AND \(Self.isUndoable)
            """, [Self.list(inodes)])
        return inodes.last.map { ($0, changesCount) }
    }

    private static let isUndoable = """
        NOT EXISTS (SELECT 1 FROM remote WHERE remote.inode = pending.inode)
        AND NOT EXISTS (SELECT 1 FROM intents WHERE intents.inode = pending.inode)
        AND NOT (synced.parent = 1
            AND substr(synced.name, 1, \(FileName.asidePrefix.utf8.count))
                = CAST('\(FileName.asidePrefix)' AS BLOB))
        AND (inodes.kind <> \(FileKind.file.rawValue) OR synced.etag NOT NULL)
        AND (inodes.kind <> \(FileKind.directory.rawValue)
            OR NOT EXISTS (SELECT 1 FROM synced AS child WHERE child.parent = synced.inode))
        """

    // MARK: Bursts

    func hasPendingDeletions(over count: Int) throws -> Bool {
        try hasRow("(SELECT 1 \(Self.pendingDeletions) LIMIT 1 OFFSET ?)", [count])
    }

    /// Sets the reason of deletions that were not tried yet to ``SyncFailure/rests``.
    func noteRests(after inode: InodeNumber, limit: Int) throws {
        try run(
            """
            UPDATE pending SET \(Self.failureAssignment) WHERE inode IN (
                SELECT pending.inode \(Self.pendingDeletions)
                WHERE pending.inode > :inode AND pending.what IS NULL
                ORDER BY pending.inode LIMIT :limit)
            """, Self.failureArguments(.rests) + ["inode": inode, "limit": limit])
    }

    /// Pending inodes without a local name that are on the remote, and whose place no other inode
    /// takes.
    private static let pendingDeletions = """
        FROM pending JOIN inodes ON inodes.id = pending.inode AND links = 0
        JOIN synced ON synced.inode = pending.inode
            AND NOT EXISTS (
                SELECT 1 FROM dirents
                WHERE dirents.parent = synced.parent AND dirents.name = synced.name)
        """
}
