import GRDB

/// Repairs the remote paths of synced items.
struct SyncCheck: CheckStep {
    let context: CheckContext

    func run() throws {
        try context.forEach(
            """
            SELECT inode, parent FROM synced WHERE inode > :last
                AND NOT EXISTS (SELECT 1 FROM inodes WHERE id = inode) ORDER BY inode
            """
        ) { row in
            let inode: InodeNumber = row[0]
            try context.tell(
                .synced, inode, "the inode of a remote item is missing",
                repair: "the next listing of the remote restores it")
            try context.database.removeSynced(inode)
            try context.unlist(row[1])
        }
        try context.forEach(
            """
            SELECT inode FROM synced WHERE inode > :last AND parent <> 1
                AND NOT EXISTS (SELECT 1 FROM inodes WHERE id = parent AND kind = 1)
                AND NOT EXISTS (SELECT 1 FROM remote WHERE remote.inode = synced.inode AND gone)
            ORDER BY inode
            """
        ) { row in
            try relocate(
                row[0], "its remote parent is not known")
        }
        try breakRemoteCircles()
    }

    /// Assumes that an item whose remote path is not known has its local path there. Uploads and
    /// deletions name the version, so no other remote file is harmed.
    private func relocate(_ inode: InodeNumber, _ fault: String) throws {
        guard var synced = try context.database.synced(inode) else { return }
        if let dirent = try context.database.dirent(of: inode),
            try dirent.parent == .root || context.database.synced(dirent.parent) != nil,
            (dirent.parent, dirent.name) != (synced.parent, synced.name),
            try context.database.syncedInode(dirent.name, in: dirent.parent) == nil
        {
            (synced.parent, synced.name) = (dirent.parent, dirent.name)
            try context.database.setSynced(synced, of: inode)
            try context.unlist(dirent.parent)
            try context.tell(
                .synced, inode, fault, repair: "it is looked up on the remote at its local path")
        } else {
            try context.tell(
                .synced, inode, fault, repair: "it counts as new; identical contents are merged")
            try context.database.removeSynced(inode)
        }
        try context.database.markPending(inode, at: context.now)
    }

    /// Forgets the remote path of directories that contain each other there.
    private func breakRemoteCircles() throws {
        try context.database.execute(sql: "DELETE FROM check_reached")
        // The engine handles descendants of a directory that no longer exists.
        try context.database.execute(
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
        while let start = try Int64.fetchOne(context.database, sql: circles) {
            var seen: Set<InodeNumber> = []
            var current = InodeNumber(rawValue: start)
            while seen.insert(current).inserted, let synced = try context.database.synced(current) {
                current = synced.parent
            }
            try context.tell(
                .synced, current, "on the remote it is its own ancestor",
                repair: "it counts as new; identical contents are merged")
            try context.database.removeSynced(current)
            try context.database.markPending(current, at: context.now)
            try context.database.execute(
                sql: """
                    WITH RECURSIVE below (inode) AS (
                        SELECT ? UNION
                        SELECT synced.inode FROM below JOIN synced ON synced.parent = below.inode)
                    INSERT OR IGNORE INTO check_reached SELECT inode FROM below
                    """,
                arguments: [current])
        }
    }
}
