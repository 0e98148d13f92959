import GRDB

// Rows of `unsynced`: inodes whose bytes here may not survive a power cut. One without a row is
// safe.

extension Database {
    /// Notes that an inode's bytes may not be on the disk.
    ///
    /// - Returns: Whether they were before: then the note itself has to survive a power cut before
    ///   any byte changes, or torn bytes would pass for safe ones.
    @discardableResult
    func markUnsafe(_ inode: InodeNumber) throws -> Bool {
        let state = try Int.fetchOne(
            cachedStatement(sql: "SELECT state FROM unsynced WHERE inode = ?"),
            arguments: [inode.rawValue])
        if state == 0 { return false }
        try cachedStatement(
            sql: """
                INSERT INTO unsynced VALUES (?, 0, 0) ON CONFLICT (inode) DO UPDATE SET state = 0
                """
        ).execute(arguments: [inode.rawValue])
        return state != 1
    }

    /// Notes that a program had an inode synchronised: whatever happens to it later, it is kept.
    ///
    /// - Parameter isSafe: Whether nothing was written since.
    func markKept(_ inode: InodeNumber, isSafe: Bool) throws {
        try cachedStatement(
            sql: """
                INSERT INTO unsynced VALUES (?1, ?2, 1)
                ON CONFLICT (inode) DO UPDATE SET state = ?2, kept = 1
                """
        ).execute(arguments: [inode.rawValue, isSafe ? 2 : 0])
    }

    func isKept(_ inode: InodeNumber) throws -> Bool {
        let statement = try cachedStatement(
            sql: "SELECT EXISTS (SELECT 1 FROM unsynced WHERE inode = ? AND kept = 1)")
        return try Bool.fetchOne(statement, arguments: [inode.rawValue]) ?? false
    }

    func isUnsafe(_ inode: InodeNumber) throws -> Bool {
        let statement = try cachedStatement(
            sql: "SELECT EXISTS (SELECT 1 FROM unsynced WHERE inode = ? AND state < 2)")
        return try Bool.fetchOne(statement, arguments: [inode.rawValue]) ?? false
    }

    /// The remote has what a program had synchronised.
    func markSent(_ inode: InodeNumber) throws {
        try cachedStatement(sql: "UPDATE unsynced SET kept = 0 WHERE inode = ?")
            .execute(arguments: [inode.rawValue])
        try cachedStatement(sql: "DELETE FROM unsynced WHERE inode = ? AND state = 2")
            .execute(arguments: [inode.rawValue])
    }

    /// Its bytes are gone.
    ///
    /// - Returns: Whether they were safe: see ``markUnsafe(_:)``.
    @discardableResult
    func forgetDurability(of inode: InodeNumber) throws -> Bool {
        let isUnsafe = try isUnsafe(inode)
        try cachedStatement(sql: "DELETE FROM unsynced WHERE inode = ?")
            .execute(arguments: [inode.rawValue])
        return !isUnsafe
    }

    /// Files that may not be on the disk, and that the remote does not have as they are.
    func unsafePending(limit: Int) throws -> [InodeNumber] {
        let statement = try cachedStatement(
            sql: """
                SELECT unsynced.inode FROM unsynced
                JOIN pending ON pending.inode = unsynced.inode
                JOIN inodes ON inodes.id = unsynced.inode
                WHERE state < 2 AND presence > 0 AND links > 0 AND writing = 0 LIMIT ?
                """)
        return try Int64.fetchAll(statement, arguments: [limit])
            .map { InodeNumber(rawValue: $0) }
    }

    /// An inode's bytes are on the disk.
    func markSafe(_ inode: InodeNumber) throws {
        try cachedStatement(sql: "DELETE FROM unsynced WHERE inode = ? AND kept = 0")
            .execute(arguments: [inode.rawValue])
        try cachedStatement(sql: "UPDATE unsynced SET state = 2 WHERE inode = ?")
            .execute(arguments: [inode.rawValue])
    }

    func hasUnsafe() throws -> Bool {
        try Bool.fetchOne(
            cachedStatement(
                sql: """
                    SELECT EXISTS (
                        SELECT 1 FROM unsynced WHERE state = 1 OR (state = 0 AND NOT EXISTS (
                            SELECT 1 FROM inodes WHERE id = inode AND writing = 1)))
                    """)) ?? false
    }

    /// Names those that are about to be put on the disk: all that nobody is writing.
    func beginSynchronizing() throws {
        try execute(
            sql: """
                UPDATE unsynced SET state = 1 WHERE state = 0
                AND NOT EXISTS (SELECT 1 FROM inodes WHERE id = inode AND writing = 1)
                """)
    }

    /// Files that were named, as far as there are bytes of them.
    func synchronizing(limit: Int) throws -> [InodeNumber] {
        let statement = try cachedStatement(
            sql: """
                SELECT unsynced.inode FROM unsynced JOIN inodes ON inodes.id = unsynced.inode
                WHERE state = 1 AND presence > 0 AND links > 0 LIMIT ?
                """)
        return try Int64.fetchAll(statement, arguments: [limit])
            .map { InodeNumber(rawValue: $0) }
    }

    /// What was named and not touched since is safe.
    func endSynchronizing() throws {
        try execute(sql: "DELETE FROM unsynced WHERE state = 1 AND kept = 0")
        try execute(sql: "UPDATE unsynced SET state = 2 WHERE state = 1")
    }

    /// Inodes of which something is here, and whether that is safe and to be kept in any case.
    func presentInodes() throws -> [(inode: InodeNumber, isSafe: Bool, isKept: Bool)] {
        try Row.fetchAll(
            self,
            sql: """
                SELECT id, coalesce(state, 2) = 2, coalesce(kept, 0)
                FROM inodes LEFT JOIN unsynced ON unsynced.inode = id
                WHERE links > 0 AND (presence > 0 OR writing = 1) AND inodes.kind = 0
                """
        ).map { (InodeNumber(rawValue: $0[0]), $0[1], $0[2]) }
    }
}
