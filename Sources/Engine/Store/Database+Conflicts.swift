import GRDB

// Rows of `conflicts`: inodes that lost their name to the remote's version.

extension Database {
    func noteConflict(_ inode: InodeNumber, original: FileName, at now: Timestamp) throws {
        try run(
            "INSERT INTO conflicts VALUES (?, ?, ?) ON CONFLICT (inode) DO NOTHING",
            [inode, original, now])
    }

    func removeConflict(_ inode: InodeNumber) throws {
        try run("DELETE FROM conflicts WHERE inode = ?", [inode])
    }

    func conflictOriginal(of inode: InodeNumber) throws -> FileName? {
        try value("SELECT original FROM conflicts WHERE inode = ?", [inode])
    }

    /// Returns the versions that were displaced from a name.
    func conflicts(with dirent: Dirent) throws -> [Dirent] {
        let inodes: [InodeNumber] = try values(
            """
            SELECT conflicts.inode FROM conflicts JOIN dirents ON dirents.inode = conflicts.inode
            WHERE parent = ? AND original = ? ORDER BY conflicts.inode
            """, [dirent.parent, dirent.name])
        return try inodes.compactMap { try self.dirent(of: $0) }
    }

    func conflictCount(below ancestor: InodeNumber) throws -> UInt64 {
        let query = Self.conflicts(below: ancestor, columns: "count(*)")
        return try value(query, Self.arguments(ancestor)) ?? 0
    }

    /// Returns conflicts at or below a directory, the oldest first.
    func conflicts(
        below ancestor: InodeNumber, limit: Int
    ) throws -> [(inode: InodeNumber, since: Timestamp)] {
        let query = Self.conflicts(below: ancestor, columns: "inode, since")
        return try rows(
            "\(query) ORDER BY since, inode LIMIT :limit",
            Self.arguments(ancestor, ["limit": limit])
        ) { ($0[0], $0[1]) }
    }

    // A cross join is not reordered: SQLite might look at all inodes first.

    private static func conflicts(below ancestor: InodeNumber, columns: String) -> String {
        """
        \(below(ancestor, of: "conflicts"))
        SELECT \(columns) FROM conflicts CROSS JOIN inodes ON inodes.id = inode
        \(isBelow(ancestor)) AND links > 0
        """
    }
}
