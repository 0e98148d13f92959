import GRDB

/// Removes records of missing inodes, and finds changes that are not marked as pending.
struct PendingCheck: CheckStep {
    let context: CheckContext

    private static let tables: [(name: String, kind: CheckFinding.Kind)] = [
        ("remote", .remote), ("pending", .pending), ("intents", .intent),
        ("conflicts", .conflict), ("xattrs", .value), ("discarded", .content),
        ("pins", .value), ("excluded", .pending), ("held_listings", .pending),
        ("copies", .synced),
    ]

    func run() throws {
        for (table, kind) in Self.tables {
            try context.removeRows(
                of: table, where: "NOT EXISTS (SELECT 1 FROM inodes WHERE id = inode)", kind,
                "refers to a missing inode")
        }
        try context.removeRows(
            of: "excluded",
            where: "EXISTS (SELECT 1 FROM synced WHERE synced.inode = excluded.inode)", .pending,
            "is about an item that the remote has")
        try markForgotten()
    }

    /// Marks inodes as pending if their local and remote states differ.
    private func markForgotten() throws {
        try context.forEach(
            "id",
            of: """
                inodes LEFT JOIN synced ON synced.inode = id
                LEFT JOIN dirents ON dirents.inode = id
                """,
            where: """
                id <> 1 AND writing = 0 AND NOT EXISTS (SELECT 1 FROM pending WHERE inode = id)
                AND NOT EXISTS (SELECT 1 FROM excluded WHERE inode = id)
                AND (
                    EXISTS (SELECT 1 FROM remote WHERE inode = id)
                    OR EXISTS (SELECT 1 FROM intents WHERE inode = id)
                    OR links = 0 AND synced.inode NOT NULL
                    OR links > 0 AND (
                        synced.inode IS NULL
                        OR synced.parent <> dirents.parent OR synced.name <> dirents.name
                        OR synced.mode <> inodes.mode
                        OR synced.xattrs <> coalesce(
                            (SELECT attributes FROM xattrs WHERE inode = id), x'')
                        OR kind <> 2 AND synced.generation <> inodes.generation
                        OR kind = 0 AND synced.modified <> inodes.modified)
                )
                """
        ) { inode, _ in
            try database.markPending(inode, at: context.now)
            try context.tell(
                .pending, inode, "it differs from the remote, but is not marked as pending",
                repair: "the next mount plans it")
        }
    }
}
