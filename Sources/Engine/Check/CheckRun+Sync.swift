import GRDB

// What is remembered of the remote, and of what is to be done there.

extension CheckRun {
    func checkSynced() throws {
        try forEach(
            """
            SELECT inode, parent FROM synced WHERE inode > :last
                AND NOT EXISTS (SELECT 1 FROM inodes WHERE id = inode) ORDER BY inode
            """
        ) { row in
            let inode = InodeNumber(rawValue: row[0])
            try tell(
                .synced, inode, "the remote has what is not here",
                repair: "it comes back with the next look at the remote")
            try database.removeSynced(inode)
            try unlist(InodeNumber(rawValue: row[1]))
        }
        try forEach(
            """
            SELECT inode FROM synced WHERE inode > :last AND parent <> 1
                AND NOT EXISTS (SELECT 1 FROM inodes WHERE id = parent AND kind = 1)
                AND NOT EXISTS (SELECT 1 FROM remote WHERE remote.inode = synced.inode AND gone)
            ORDER BY inode
            """
        ) { row in
            try settleAnew(
                InodeNumber(rawValue: row[0]), "its directory on the remote is not known")
        }
        try breakRemoteCircles()
    }

    /// Where on the remote something is, is not known: it is taken to be where it is here. What is
    /// sent or removed names the version, so that nothing else there is harmed.
    private func settleAnew(_ inode: InodeNumber, _ what: String) throws {
        guard var synced = try database.synced(inode) else { return }
        if let dirent = try database.dirent(of: inode),
            try dirent.parent == .root || database.synced(dirent.parent) != nil,
            (dirent.parent, dirent.name) != (synced.parent, synced.name),
            try database.syncedInode(dirent.name, in: dirent.parent) == nil
        {
            (synced.parent, synced.name) = (dirent.parent, dirent.name)
            try database.setSynced(synced, of: inode)
            try unlist(dirent.parent)
            try tell(.synced, inode, what, repair: "it is looked for where it is here")
        } else {
            try tell(
                .synced, inode, what, repair: "it counts as new; equal contents become one file")
            try database.removeSynced(inode)
        }
        try database.markPending(inode, at: now)
    }

    /// Directories that lie in each other on the remote.
    private func breakRemoteCircles() throws {
        try database.execute(sql: "DELETE FROM check_reached")
        // What lies below a directory that is not there any more is found out by the engine.
        try database.execute(
            sql: """
                WITH RECURSIVE below (inode) AS (
                    SELECT 1 UNION
                    SELECT inode FROM synced WHERE parent <> 1
                        AND NOT EXISTS (SELECT 1 FROM synced AS above WHERE above.inode = synced.parent)
                    UNION
                    SELECT synced.inode FROM below JOIN synced ON synced.parent = below.inode)
                INSERT INTO check_reached SELECT inode FROM below
                """)
        let circles = """
            SELECT inode FROM synced WHERE inode NOT IN (SELECT inode FROM check_reached) LIMIT 1
            """
        while let start = try Int64.fetchOne(database, sql: circles) {
            var seen: Set<InodeNumber> = []
            var current = InodeNumber(rawValue: start)
            while seen.insert(current).inserted, let synced = try database.synced(current) {
                current = synced.parent
            }
            let what = "on the remote it lies below itself"
            try tell(
                .synced, current, what, repair: "it counts as new; what both have becomes one")
            try database.removeSynced(current)
            try database.markPending(current, at: now)
            try database.execute(
                sql: """
                    WITH RECURSIVE below (inode) AS (
                        SELECT ? UNION
                        SELECT synced.inode FROM below JOIN synced ON synced.parent = below.inode)
                    INSERT OR IGNORE INTO check_reached SELECT inode FROM below
                    """,
                arguments: [current.rawValue])
        }
    }

    // MARK: What waits

    private static let tables: [(name: String, kind: CheckFinding.Kind)] = [
        ("remote", .remote), ("pending", .pending), ("attempts", .attempt),
        ("conflicts", .conflict), ("xattrs", .value), ("discarded", .content),
    ]

    func checkPending() throws {
        for (table, kind) in Self.tables {
            try forEach(
                """
                SELECT inode FROM \(table) WHERE inode > :last
                    AND NOT EXISTS (SELECT 1 FROM inodes WHERE id = inode) ORDER BY inode
                """
            ) { row in
                let inode = InodeNumber(rawValue: row[0])
                try database.execute(
                    sql: "DELETE FROM \(table) WHERE inode = ?", arguments: [inode.rawValue])
                try tell(
                    kind, inode, "a row of \(table) is about what is not there",
                    repair: "the row is removed")
            }
        }
        try markForgotten()
    }

    /// Inodes whose states differ and that nobody would look at.
    private func markForgotten() throws {
        try forEach(
            """
            SELECT id FROM inodes LEFT JOIN synced ON synced.inode = id
                LEFT JOIN dirents ON dirents.inode = id
            WHERE id > :last AND id <> 1 AND writing = 0
                AND NOT EXISTS (SELECT 1 FROM pending WHERE inode = id)
                AND (
                    EXISTS (SELECT 1 FROM remote WHERE inode = id)
                    OR EXISTS (SELECT 1 FROM attempts WHERE inode = id)
                    OR links = 0 AND synced.inode NOT NULL
                    OR links > 0 AND (
                        synced.inode IS NULL
                        OR synced.parent <> dirents.parent OR synced.name <> dirents.name
                        OR synced.mode <> inodes.mode
                        OR synced.xattrs <> coalesce(
                            (SELECT attributes FROM xattrs WHERE inode = id), x'')
                        OR kind <> 2 AND synced.generation <> inodes.generation
                        OR kind = 0 AND synced.modified <> inodes.modified)
                ) GROUP BY id ORDER BY id
            """
        ) { row in
            let inode = InodeNumber(rawValue: row[0])
            try database.markPending(inode, at: now)
            try tell(
                .pending, inode, "it is not as on the remote, and nobody knew",
                repair: "it is looked at with the next mount")
        }
    }
}
