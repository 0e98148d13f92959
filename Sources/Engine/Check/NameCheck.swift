import GRDB

/// Removes names without an inode or a parent directory.
struct NameCheck: CheckStep {
    let context: CheckContext

    func run() throws {
        try recreateParents()
        try checkTargets()
        try checkParents()
        try checkSecondNames()
    }

    /// Recreates directories that contain names but whose row is missing or marked as removed.
    private func recreateParents() throws {
        try context.forEach(
            """
            SELECT DISTINCT parent FROM dirents WHERE parent > :last
                AND NOT EXISTS (SELECT 1 FROM inodes WHERE id = parent) ORDER BY parent
            """
        ) { row in
            let inode: InodeNumber = row[0]
            guard inode.rawValue > 0 else { return }
            try context.recreate(inode, as: .directory)
            try context.tell(
                .name, inode, "a directory that contains names is missing",
                repair: "it is recreated with mode 755")
        }
        try context.forEach(
            """
            SELECT id FROM inodes WHERE id > :last AND kind = 1 AND links = 0
                AND EXISTS (SELECT 1 FROM dirents WHERE parent = id) ORDER BY id
            """
        ) { row in
            let inode: InodeNumber = row[0]
            try context.database.execute(
                sql: "UPDATE inodes SET links = 2 WHERE id = ?", arguments: [inode])
            try context.tell(
                .name, inode, "a removed directory contains names", repair: "it is restored")
        }
    }

    /// Removes names of missing inodes, unless the content file of a new file exists.
    private func checkTargets() throws {
        try context.forEach(
            """
            SELECT cookie, inode, parent FROM dirents WHERE cookie > :last
                AND NOT EXISTS (SELECT 1 FROM inodes WHERE id = inode) ORDER BY cookie
            """
        ) { row in
            let inode: InodeNumber = row[1]
            let path = try context.describe(inode)
            let isKnownThere = try context.hasRow("synced WHERE inode = ?", [inode])
            if !isKnownThere, let size = try context.contentSize(of: inode) {
                try context.recreate(inode, as: .file, size: size)
                try context.database.markPending(inode, at: context.now)
                return try context.tell(
                    .name, inode, "the file of a name is missing, but its bytes are not",
                    repair: "the file is recreated from its bytes with mode 644")
            }
            if let path {
                try context.rememberPath(path, of: inode)
            }
            try context.database.execute(
                sql: "DELETE FROM dirents WHERE cookie = ?", arguments: [row[0] as Int64])
            try context.unlist(row[2])
            try context.tell(
                .name, inode, path: path, "the inode of a name is missing",
                repair: isKnownThere
                    ? "the name is removed; the next listing restores the remote's version"
                    : "the name is removed",
                loss: isKnownThere ? nil : "the item, unless the remote has it")
        }
    }

    /// Removes names whose parent is not a directory. ``ReachCheck`` gives their inodes new ones.
    private func checkParents() throws {
        try context.forEach(
            """
            SELECT cookie, inode FROM dirents WHERE cookie > :last AND NOT EXISTS
                (SELECT 1 FROM inodes WHERE id = parent AND kind = 1) ORDER BY cookie
            """
        ) { row in
            let inode: InodeNumber = row[1]
            try context.tell(
                .name, inode, "the parent of a name is not a directory",
                repair: "the name is removed, and its inode gets another")
            try removeName(cookie: row[0], of: inode)
        }
    }

    /// Removes all names of a directory except the first.
    private func checkSecondNames() throws {
        try context.forEach(
            """
            SELECT cookie, inode FROM dirents AS other WHERE cookie > :last
                AND EXISTS (SELECT 1 FROM inodes WHERE id = inode AND kind = 1)
                AND EXISTS (SELECT 1 FROM dirents WHERE inode = other.inode
                    AND cookie < other.cookie) ORDER BY cookie
            """
        ) { row in
            let inode: InodeNumber = row[1]
            try context.database.execute(
                sql: "DELETE FROM dirents WHERE cookie = ?", arguments: [row[0] as Int64])
            try context.tell(
                .name, inode, "a directory has a second name",
                repair: "only the name shown here is kept")
        }
    }

    private func removeName(cookie: Int64, of inode: InodeNumber) throws {
        if let path = try context.describe(inode) {
            try context.rememberPath(path, of: inode)
        }
        try context.database.execute(
            sql: "DELETE FROM dirents WHERE cookie = ?", arguments: [cookie])
        // Without a link it would count as unlinked, and not get a new name.
        try context.database.execute(
            sql: "UPDATE inodes SET links = max(links, 1) WHERE id = ?",
            arguments: [inode])
    }
}
