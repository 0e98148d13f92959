import GRDB

// Rows of `unsynced`: inodes whose local bytes may not survive a power failure. An inode without a
// row is safe.

extension Database {
    /// Records that an inode's bytes may not be on the disk.
    ///
    /// - Returns: Whether they were until now. If so, this record must survive a power failure
    ///   before any byte changes, or torn bytes would be taken for safe ones.
    @discardableResult
    func markUnsafe(_ inode: InodeNumber) throws -> Bool {
        let state: Int? = try value("SELECT state FROM unsynced WHERE inode = ?", [inode])
        if state == 0 { return false }
        try run(
            "INSERT INTO unsynced VALUES (?, 0, 0) ON CONFLICT (inode) DO UPDATE SET state = 0",
            [inode])
        return state != 1
    }

    /// Records that a program called `fsync` on an inode: it is kept, whatever happens to it later.
    ///
    /// - Parameter isSafe: Whether nothing was written since.
    func markFsynced(_ inode: InodeNumber, isSafe: Bool) throws {
        try run(
            """
            INSERT INTO unsynced VALUES (?1, ?2, 1)
            ON CONFLICT (inode) DO UPDATE SET state = ?2, fsynced = 1
            """, [inode, isSafe ? 2 : 0])
    }

    func isFsynced(_ inode: InodeNumber) throws -> Bool {
        try hasRow("unsynced WHERE inode = ? AND fsynced = 1", [inode])
    }

    func isUnsafe(_ inode: InodeNumber) throws -> Bool {
        try hasRow("unsynced WHERE inode = ? AND state < 2", [inode])
    }

    /// Records that the remote has the bytes that a program synchronised.
    func markSent(_ inode: InodeNumber) throws {
        try run("UPDATE unsynced SET fsynced = 0 WHERE inode = ?", [inode])
        try run("DELETE FROM unsynced WHERE inode = ? AND state = 2", [inode])
    }

    /// Removes the record of an inode whose bytes are deleted.
    ///
    /// - Returns: Whether they were safe: see ``markUnsafe(_:)``.
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
            WHERE state < 2 AND presence > 0 AND links > 0 AND writing = 0 LIMIT ?
            """, [limit])
    }

    /// Records that an inode's bytes are on the disk.
    func markSafe(_ inode: InodeNumber) throws {
        try run("DELETE FROM unsynced WHERE inode = ? AND fsynced = 0", [inode])
        try run("UPDATE unsynced SET state = 2 WHERE inode = ?", [inode])
    }

    func hasUnsafe() throws -> Bool {
        try hasRow("unsynced WHERE state = 1 OR (\(Self.isSynchronizable))")
    }

    /// Marks the inodes that are about to be synced to the disk: all that are not open for writing.
    func beginSynchronizing() throws {
        try run("UPDATE unsynced SET state = 1 WHERE \(Self.isSynchronizable)")
    }

    private static let isSynchronizable = """
        state = 0 AND NOT EXISTS (SELECT 1 FROM inodes WHERE id = inode AND writing = 1)
        """

    /// Returns the marked files that have local bytes.
    func synchronizing(limit: Int) throws -> [InodeNumber] {
        try values(
            """
            SELECT unsynced.inode FROM unsynced JOIN inodes ON inodes.id = unsynced.inode
            WHERE state = 1 AND presence > 0 AND links > 0 LIMIT ?
            """, [limit])
    }

    /// Records as safe the marked inodes that were not changed since.
    func endSynchronizing() throws {
        try run("DELETE FROM unsynced WHERE state = 1 AND fsynced = 0")
        try run("UPDATE unsynced SET state = 2 WHERE state = 1")
    }

    /// Returns the files with local bytes, whether these are safe, and whether they must be kept.
    func presentInodes() throws -> [(inode: InodeNumber, isSafe: Bool, isFsynced: Bool)] {
        try rows(
            """
            SELECT id, coalesce(state, 2) = 2, coalesce(fsynced, 0)
            FROM inodes LEFT JOIN unsynced ON unsynced.inode = id
            WHERE links > 0 AND (presence > 0 OR writing = 1) AND inodes.kind = 0
            """
        ).map { ($0[0], $0[1], $0[2]) }
    }
}
