import GRDB

// Rows of `unsynced`: inodes whose local bytes may not survive a power failure. An inode without a
// row is safe.

extension Database {
    /// Records that an inode's bytes may not be on the disk.
    ///
    /// - Parameter isChanged: Whether a program changes them, instead of the remote supplying them.
    /// - Returns: Whether a power failure may find them recorded as safe. If so, this record must
    ///   survive one before any byte changes, or torn bytes would be taken for safe ones.
    @discardableResult
    func markUnsafe(_ inode: InodeNumber, isChanged: Bool) throws -> Bool {
        let state: Int? = try value("SELECT state FROM unsynced WHERE inode = ?", [inode])
        // The record of a failure of the disk may itself not be on the disk yet.
        let isRecorded = try (state == 0 || state == 1) && !isUnstored(inode)
        if state == 0, !isChanged { return !isRecorded }
        try run(
            """
            INSERT INTO unsynced (inode, state, fsynced, changed) VALUES (?1, 0, 0, ?2)
            ON CONFLICT (inode) DO UPDATE SET state = 0, changed = max(changed, ?2)
            """, [inode, isChanged])
        return !isRecorded
    }

    /// Records that a program called `fsync` on an inode: it is kept, whatever happens to it later.
    ///
    /// - Parameter isSafe: Whether nothing was written since.
    func markFsynced(_ inode: InodeNumber, isSafe: Bool) throws {
        try run(
            """
            INSERT INTO unsynced (inode, state, fsynced) VALUES (?1, ?2, 1)
            ON CONFLICT (inode) DO UPDATE SET state = ?2, fsynced = 1
            """, [inode, isSafe ? 2 : 0])
        if isSafe { try run("UPDATE unsynced SET replaced = NULL WHERE inode = ?", [inode]) }
    }

    func isFsynced(_ inode: InodeNumber) throws -> Bool {
        try hasRow("unsynced WHERE inode = ? AND fsynced = 1", [inode])
    }

    func isUnsafe(_ inode: InodeNumber) throws -> Bool {
        try hasRow("unsynced WHERE inode = ? AND state < 2", [inode])
    }

    /// Records that the remote has an inode's bytes: a power cut does not take them.
    func markSent(_ inode: InodeNumber) throws {
        try run("UPDATE unsynced SET fsynced = 0, replaced = NULL WHERE inode = ?", [inode])
        try run("DELETE FROM unsynced WHERE inode = ? AND state = 2", [inode])
    }

    /// Records that the remote has some version of an inode under its name: if a power cut takes later
    /// changes, the inode falls back to that, and keeps the name.
    func forgetReplaced(by inode: InodeNumber) throws {
        try run("UPDATE unsynced SET replaced = NULL WHERE inode = ?", [inode])
    }

    /// Removes the record of an inode whose bytes are deleted.
    ///
    /// - Returns: Whether they were safe: see ``markUnsafe(_:isChanged:)``.
    @discardableResult
    func forgetDurability(of inode: InodeNumber) throws -> Bool {
        let isUnsafe = try isUnsafe(inode)
        try run("DELETE FROM unsynced WHERE inode = ?", [inode])
        return !isUnsafe
    }

    /// Returns pending files whose bytes may not be on the disk.
    func unsafePending(limit: Int) throws -> [InodeNumber] {
        try values(
            """
            SELECT unsynced.inode FROM unsynced
            JOIN pending ON pending.inode = unsynced.inode
            JOIN inodes ON inodes.id = unsynced.inode
            WHERE state < 2 AND failed = 0 AND suspect = 0
                AND presence > 0 AND links > 0 AND writing = 0
            LIMIT ?
            """, [limit])
    }

    /// Records that an inode's bytes are on the disk, unless it has failed to store them, or may have.
    func markSafe(_ inode: InodeNumber) throws {
        let isThisOne = "inode = ? AND failed = 0 AND suspect = 0"
        try run("DELETE FROM unsynced WHERE \(isThisOne) AND fsynced = 0", [inode])
        try run("UPDATE unsynced SET state = 2, replaced = NULL WHERE \(isThisOne)", [inode])
    }

    func hasUnsafe() throws -> Bool {
        try hasRow("unsynced WHERE state = 1 OR (\(Self.isSynchronizable))")
    }

    /// Marks the inodes that are about to be synced to the disk: all that are not open for writing.
    func beginSynchronizing() throws {
        try run("UPDATE unsynced SET state = 1 WHERE \(Self.isSynchronizable)")
    }

    private static let isSynchronizable = """
        state = 0 AND failed = 0 AND suspect = 0
            AND NOT EXISTS (SELECT 1 FROM inodes WHERE id = inode AND writing = 1)
        """

    /// Returns the first marked files after `inode` that have local bytes and a name, or may get one
    /// back, or are to be moved to the trash, ascending.
    func synchronizing(after inode: InodeNumber, limit: Int) throws -> [InodeNumber] {
        try values(
            """
            SELECT inode FROM unsynced AS marked JOIN inodes ON inodes.id = inode
            WHERE inode > ? AND state = 1 AND \(Self.isWorthSynchronizing)
            ORDER BY inode LIMIT ?
            """, [inode, limit])
    }

    private static let isWorthSynchronizing = """
        presence > 0 AND (links > 0
            OR EXISTS (SELECT 1 FROM unsynced WHERE replaced = marked.inode)
            OR EXISTS (SELECT 1 FROM discarded WHERE inode = marked.inode))
        """

    /// Records as safe the marked inodes that were not changed since.
    func endSynchronizing() throws {
        try run("DELETE FROM unsynced WHERE state = 1 AND fsynced = 0")
        try run("UPDATE unsynced SET state = 2, replaced = NULL WHERE state = 1")
    }

    /// Leaves a marked inode to the next pass.
    func postponeSynchronizing(_ inode: InodeNumber) throws {
        try run("UPDATE unsynced SET state = 0 WHERE inode = ? AND state = 1", [inode])
    }

    // MARK: Failures of the disk

    /// Records that the disk could not store an inode's bytes. They never count as safe again.
    func markUnstored(_ inode: InodeNumber) throws {
        try run(
            """
            INSERT INTO unsynced (inode, state, fsynced, failed) VALUES (?, 0, 0, 1)
            ON CONFLICT (inode) DO UPDATE SET state = 0, failed = 1, suspect = 0
            """, [inode])
    }

    func isUnstored(_ inode: InodeNumber) throws -> Bool {
        try hasRow("unsynced WHERE inode = ? AND failed = 1", [inode])
    }

    /// Returns the first inodes after `inode` whose bytes the disk could not store, ascending.
    func unstored(after inode: InodeNumber, limit: Int) throws -> [InodeNumber] {
        try values(
            "SELECT inode FROM unsynced WHERE failed = 1 AND inode > ? ORDER BY inode LIMIT ?",
            [inode, limit])
    }

    /// The files whose bytes neither the disk nor the remote has.
    ///
    /// CROSS JOIN: there are few of them, but perhaps many pending ones.
    private static let inDanger = """
        unsynced INDEXED BY unsynced_failed
            CROSS JOIN pending ON pending.inode = unsynced.inode
            CROSS JOIN inodes ON inodes.id = unsynced.inode
        WHERE failed = 1 AND links > 0
        """

    func isInDanger(_ inode: InodeNumber) throws -> Bool {
        try hasRow("\(Self.inDanger) AND unsynced.inode = ?", [inode])
    }

    func inDangerCount() throws -> UInt64 {
        try value("SELECT count(*) FROM \(Self.inDanger)") ?? 0
    }

    /// Returns pending inodes at or below one whose bytes neither the disk nor the remote has.
    func inDanger(below ancestor: InodeNumber, limit: Int) throws -> [PendingRecord] {
        let inodes: [InodeNumber] = try values(
            "SELECT unsynced.inode FROM \(Self.inDanger) ORDER BY unsynced.inode LIMIT ?",
            [ancestor == .root ? limit : -1])
        return try inodes.filter { try ancestor == .root || isBelow(ancestor, $0) }
            .prefix(limit).compactMap { try pending($0) }
    }

    /// Forgets that a program has synchronised a file, which the disk cannot store any more.
    func forgetFsynced(_ inode: InodeNumber) throws {
        try run("UPDATE unsynced SET fsynced = 0 WHERE inode = ?", [inode])
    }

    /// Forgets a failure, as the file was emptied.
    func forgetUnstored(_ inode: InodeNumber) throws {
        try run("UPDATE unsynced SET failed = 0, suspect = 0 WHERE inode = ?", [inode])
    }

    /// Forgets all failures, as the machine was restarted: memory has only bytes of the disk.
    func forgetUnstored() throws {
        try run("UPDATE unsynced SET failed = 0 WHERE failed = 1")
        try endSuspicions()
    }

    // MARK: Suspect bytes

    /// Marks all bytes that may not be on the disk as suspect, see ``SuspectContent``: they are not
    /// synchronised until they have been written again.
    func suspectUnsafe() throws {
        try run(
            """
            UPDATE unsynced SET state = 0, suspect = 1 WHERE state < 2 AND failed = 0
                AND EXISTS (SELECT 1 FROM inodes WHERE id = inode AND presence > 0)
            """)
    }

    func isSuspect(_ inode: InodeNumber) throws -> Bool {
        try hasRow("unsynced WHERE inode = ? AND suspect = 1", [inode])
    }

    /// Returns the first suspect files that have local bytes worth keeping, ascending.
    ///
    /// - Parameter isPending: Whether only those count that the remote lacks.
    func suspects(isPending: Bool = false, limit: Int) throws -> [InodeNumber] {
        try values(
            """
            SELECT inode FROM unsynced AS marked INDEXED BY unsynced_suspect
            JOIN inodes ON inodes.id = inode
            WHERE suspect = 1 AND \(Self.isWorthSynchronizing)
                \(isPending ? "AND inode IN (SELECT inode FROM pending)" : "")
            ORDER BY inode LIMIT ?
            """, [limit])
    }

    /// Records that the bytes of a suspect inode have been written again.
    func endSuspicion(of inode: InodeNumber) throws {
        try run("UPDATE unsynced SET suspect = 0 WHERE inode = ?", [inode])
    }

    func endSuspicions() throws {
        try run("UPDATE unsynced SET suspect = 0 WHERE suspect = 1")
    }

    /// Records that the disk could not store a file, unless it was emptied or its bytes were written again.
    func markSuspectUnstored(_ inode: InodeNumber) throws {
        try run("UPDATE unsynced SET failed = 1 WHERE inode = ? AND suspect = 1", [inode])
    }

    // MARK: Replaced files

    /// Records that a file loses its name to another one, or that this one moves to a free name.
    ///
    /// Until the bytes of the second are on the disk, the first keeps its own, and gets the name back
    /// if a power cut takes those of the second.
    ///
    /// A second one without changes has none to lose, even if a program may write it.
    ///
    /// - Parameter replaced: If nothing of it is on the disk, the file that it has replaced itself is
    ///   kept instead.
    func noteReplacement(of replaced: InodeNumber?, by inode: InodeRecord) throws {
        let isChanged: Bool? = try value(
            "SELECT changed FROM unsynced WHERE inode = ? AND state < 2", [inode.id])
        guard let isChanged else { return }
        // A file that is open for writing may differ from the remote although its generation does not.
        let hasChanges = try isChanged && (inode.isWriting || isChangedHere(inode))
        var kept = hasChanges ? replaced : nil
        if let replaced, kept != nil, try isUnsafe(replaced), try !isFsynced(replaced),
            try synced(replaced)?.etag == nil
        {
            kept = try self.replaced(by: replaced)
        }
        try run("UPDATE unsynced SET replaced = ? WHERE inode = ?", [kept, inode.id])
    }

    /// Returns the file that gets its name back if the bytes of an inode do not survive.
    func replaced(by inode: InodeNumber) throws -> InodeNumber? {
        try value("SELECT replaced FROM unsynced WHERE inode = ?", [inode])
    }

    /// Whether an inode may get its name back, see ``noteReplacement(of:by:)``.
    ///
    /// A file without a name gives none back, unless it may get one itself. A power cut may undo the
    /// loss of the name until the database is synchronised.
    func isReplacedUnsafely(_ inode: InodeNumber) throws -> Bool {
        try hasRow(Self.unsafeSuccessors, [inode])
    }

    /// Whether an inode may get its name back for longer than until the next pass of ``Flusher``: the disk
    /// could not store its successor, or a program is writing that.
    func isReplacedUnsafelyForLong(_ inode: InodeNumber) throws -> Bool {
        try hasRow("\(Self.unsafeSuccessors) WHERE failed = 1 OR writing = 1", [inode])
    }

    /// The inodes to which an inode has lost its name, and which a power cut may take.
    private static let unsafeSuccessors = """
        (WITH RECURSIVE successors (id, failed) AS (
            SELECT inode, failed FROM unsynced WHERE replaced = ?
            UNION SELECT inode, unsynced.failed FROM unsynced JOIN successors ON replaced = successors.id)
        SELECT failed, writing FROM successors JOIN inodes ON inodes.id = successors.id
        WHERE links > 0)
        """

    /// Returns the first inodes after one whose bytes are not on the disk for sure, so that a power cut may
    /// have torn them; ascending, and others among them.
    func doubtfulInodes(after inode: InodeNumber, limit: Int) throws -> [InodeNumber] {
        try values(
            """
            SELECT inode FROM (
                SELECT inode FROM unsynced WHERE inode > ?1 AND state < 2 ORDER BY inode LIMIT ?2)
            UNION SELECT id FROM (
                SELECT id FROM inodes WHERE id > ?1 AND writing = 1 ORDER BY id LIMIT ?2)
            ORDER BY 1 LIMIT ?2
            """, [inode, limit])
    }

    /// Whether an inode is a file with a name and local bytes, or was open for writing.
    func isPresent(_ inode: InodeNumber) throws -> Bool {
        try hasRow(
            "inodes WHERE id = ? AND links > 0 AND (presence > 0 OR writing = 1) AND kind = 0",
            [inode])
    }
}
