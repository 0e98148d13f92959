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
            "parent", of: "dirents",
            where: "parent > 0 AND NOT EXISTS (SELECT 1 FROM inodes WHERE id = parent)"
        ) { inode, _ in
            try context.recreate(inode, as: .directory)
            try context.tell(
                .name, inode, "a directory that contains names is missing",
                repair: "it is recreated with mode 755")
        }
        try context.forEach(
            "id", of: "inodes",
            where: """
                kind = 1 AND links = 0 AND EXISTS (SELECT 1 FROM dirents WHERE parent = id)
                """
        ) { inode, _ in
            try database.run("UPDATE inodes SET links = 2 WHERE id = ?", [inode])
            try context.tell(
                .name, inode, "a removed directory contains names", repair: "it is restored")
        }
    }

    /// Removes names of missing inodes, unless the content file of a new file exists.
    private func checkTargets() throws {
        try context.forEach(
            "cookie, inode, parent", of: "dirents",
            where: "NOT EXISTS (SELECT 1 FROM inodes WHERE id = inode)"
        ) { _, row in
            let inode: InodeNumber = row[1]
            let path = try context.describe(inode)
            let isKnownThere = try database.hasRow("synced WHERE inode = ?", [inode])
            if !isKnownThere, let size = try context.contentSize(of: inode) {
                try context.recreate(inode, as: .file, size: size)
                try database.markPending(inode, at: context.now)
                return try context.tell(
                    .name, inode, "the file of a name is missing, but its bytes are not",
                    repair: "the file is recreated from its bytes with mode 644")
            }
            try context.rememberPath(path, of: inode)
            try removeName(row)
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
            "cookie, inode", of: "dirents",
            where: "NOT EXISTS (SELECT 1 FROM inodes WHERE id = parent AND kind = 1)"
        ) { _, row in
            let inode: InodeNumber = row[1]
            try context.tell(
                .name, inode, "the parent of a name is not a directory",
                repair: "the name is removed, and its inode gets another")
            try context.rememberPath(context.describe(inode), of: inode)
            try removeName(row)
            // Without a link it would count as unlinked, and not get a new name.
            try database.run("UPDATE inodes SET links = max(links, 1) WHERE id = ?", [inode])
        }
    }

    /// Removes all names of a directory except the first.
    private func checkSecondNames() throws {
        try context.forEach(
            "cookie, inode", of: "dirents AS other",
            where: """
                EXISTS (SELECT 1 FROM inodes WHERE id = inode AND kind = 1) AND EXISTS (
                    SELECT 1 FROM dirents WHERE inode = other.inode AND cookie < other.cookie)
                """
        ) { _, row in
            try removeName(row)
            try context.tell(
                .name, row[1], "a directory has a second name",
                repair: "only the name shown here is kept")
        }
    }

    private func removeName(_ row: Row) throws {
        try database.run("DELETE FROM dirents WHERE cookie = ?", [row[0] as Int64])
    }
}
