import GRDB

// Rows of `conflicts`: inodes that lost their name to the remote's version.

extension Database {
    func noteConflict(_ inode: InodeNumber, original: FileName, at now: Timestamp) throws {
        try cachedStatement(
            sql: "INSERT INTO conflicts VALUES (?, ?, ?) ON CONFLICT (inode) DO NOTHING"
        ).execute(arguments: [inode, original, now])
    }

    /// Removes a conflict that was resolved.
    func removeConflict(_ inode: InodeNumber) throws {
        try cachedStatement(sql: "DELETE FROM conflicts WHERE inode = ?")
            .execute(arguments: [inode])
    }

    /// Returns the original name of a displaced inode.
    func conflictOriginal(of inode: InodeNumber) throws -> FileName? {
        let statement = try cachedStatement(sql: "SELECT original FROM conflicts WHERE inode = ?")
        return try FileName.fetchOne(statement, arguments: [inode])
    }

    /// Returns the versions that were displaced from a name.
    func conflicts(with dirent: Dirent) throws -> [Dirent] {
        let statement = try cachedStatement(
            sql: """
                SELECT conflicts.inode FROM conflicts
                JOIN dirents ON dirents.inode = conflicts.inode
                WHERE parent = ? AND original = ? ORDER BY conflicts.inode
                """)
        return try InodeNumber.fetchAll(statement, arguments: [dirent.parent, dirent.name])
            .compactMap { try self.dirent(of: $0) }
    }

    /// Returns the number of conflicts at or below a directory.
    func conflictCount(below ancestor: InodeNumber) throws -> UInt64 {
        let statement = try cachedStatement(
            sql: """
                \(Self.below(ancestor, of: "conflicts")) SELECT count(*)
                FROM conflicts JOIN inodes ON inodes.id = inode
                \(Self.isBelow(ancestor)) AND links > 0
                """)
        return try UInt64.fetchOne(statement, arguments: Self.arguments(ancestor)) ?? 0
    }

    /// Returns conflicts at or below a directory, the oldest first.
    func conflicts(
        below ancestor: InodeNumber, limit: Int
    ) throws -> [(inode: InodeNumber, since: Timestamp)] {
        let statement = try cachedStatement(
            sql: """
                \(Self.below(ancestor, of: "conflicts")) SELECT inode, since
                FROM conflicts JOIN inodes ON inodes.id = inode
                \(Self.isBelow(ancestor)) AND links > 0 ORDER BY since, inode LIMIT :limit
                """)
        return try Row.fetchAll(
            statement, arguments: Self.arguments(ancestor, ["limit": limit])
        ).map { ($0[0], $0[1]) }
    }
}
