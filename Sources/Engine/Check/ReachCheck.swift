import GRDB

/// Makes every inode reachable from the root: gives those without a name a new one, or moves their
/// bytes to `lost+found/`, and breaks circles of directories.
struct ReachCheck: CheckStep {
    let context: CheckContext

    func run() throws {
        try reach(from: .root)
        try placeOrphans()
        try breakCircles()
    }

    /// Records an inode and all its descendants as reachable.
    private func reach(from inode: InodeNumber) throws {
        try context.database.execute(
            sql: """
                WITH RECURSIVE below (inode) AS (
                    SELECT ? UNION
                    SELECT dirents.inode FROM below JOIN dirents ON dirents.parent = below.inode)
                INSERT OR IGNORE INTO check_reached SELECT inode FROM below
                """,
            arguments: [inode])
    }

    private static let orphans = """
        SELECT id FROM inodes WHERE id > :last AND id <> 1 AND links > 0
            AND NOT EXISTS (SELECT 1 FROM dirents WHERE inode = id) ORDER BY id
        """

    private func placeOrphans() throws {
        // First at their remote paths, repeatedly, as one may be the parent of another.
        var isProgress = true
        while isProgress {
            isProgress = false
            try context.forEach(Self.orphans) { row in
                let inode: InodeNumber = row[0]
                if try placeAsOnRemote(inode) { isProgress = true }
            }
        }
        try context.forEach(Self.orphans) { row in try placeElsewhere(row[0])
        }
    }

    /// Gives an inode its name on the remote, if that is free.
    private func placeAsOnRemote(_ inode: InodeNumber) throws -> Bool {
        guard let synced = try context.database.synced(inode),
            try context.hasRow(
                """
                check_reached JOIN inodes ON id = inode
                WHERE inode = ? AND kind = 1 AND links > 0
                """, [synced.parent]),
            try context.database.dirent(synced.name, in: synced.parent) == nil
        else { return false }
        try name(inode, synced.name, in: synced.parent)
        try context.tell(
            .orphan, inode, "it has no local name", repair: "it is given its name on the remote")
        return true
    }

    private func name(_ inode: InodeNumber, _ name: FileName, in parent: InodeNumber) throws {
        try context.database.execute(
            sql: "INSERT INTO dirents (parent, name, inode) VALUES (?, ?, ?)",
            arguments: [parent, name, inode])
        try context.database.markPending(inode, at: context.now)
        try reach(from: inode)
    }

    private func placeElsewhere(_ inode: InodeNumber) throws {
        guard let record = try context.database.inode(inode) else { return }
        let old = try context.describe(inode)
        if record.kind == .directory, try context.database.hasDirents(inode) {
            let name = try freeName("found-\(inode)")
            try self.name(inode, name, in: .root)
            return try context.tell(
                .orphan, inode, "a directory has no name, and its former name is not known",
                repair: "it is named \"\(name)\"")
        }
        let synced = try context.database.synced(inode)
        if record.kind == .file, try context.isChanged(record) {
            try saveOrphan(record, was: old)
        } else if record.kind == .symlink, synced == nil {
            let place = try context.files.writeToLost(
                record.target ?? [], inode: inode, was: "\(old ?? "link").symlink")
            try context.tell(
                .orphan, inode, path: old, "a symbolic link has no name",
                repair: "its target is written to \(place)")
        } else {
            try context.tell(
                .orphan, inode, path: old, "it has no name, and no local changes",
                repair: synced == nil ? "it is removed" : "it is restored from the remote")
        }
        try context.forgetContent(of: inode)
        // Bytes worth keeping have been moved.
        if record.kind == .file { try context.files.remove(StateFiles.content(of: inode)) }
        try context.database.deleteInode(inode)
        if let synced { try context.unlist(synced.parent) }
    }

    /// Keeps the bytes of a changed file whose name is not known.
    private func saveOrphan(_ record: InodeRecord, was old: String?) throws {
        let size = try context.contentSize(of: record.id)
        guard let size, size > 0 || record.size == 0 else {
            return try context.tell(
                .orphan, record.id, path: old, "a changed file has neither a name nor bytes",
                repair: "it is removed", loss: "\(record.size) bytes")
        }
        let place = try context.files.moveToLost(
            StateFiles.content(of: record.id), inode: record.id, was: old)
        let isPartial = record.presence != .whole
        try context.tell(
            .orphan, record.id, path: old, "a changed file has no name",
            repair: "its bytes are in \(place)",
            loss: isPartial ? "its bytes that were not local; they read as zeros" : nil)
    }

    private func freeName(_ text: String) throws -> FileName {
        var name = FileName(stored: Array(text.utf8))
        var attempt = 1
        while try context.database.dirent(name, in: .root) != nil {
            attempt += 1
            name = FileName(stored: Array("\(text)-\(attempt)".utf8))
        }
        return name
    }

    /// Places directories that contain each other, and their descendants.
    private func breakCircles() throws {
        while let start = try Int64.fetchOne(
            context.database,
            sql: """
                SELECT inode FROM dirents
                WHERE inode NOT IN (SELECT inode FROM check_reached) LIMIT 1
                """)
        {
            let member = try memberOfCircle(above: InodeNumber(rawValue: start))
            guard let dirent = try context.database.dirent(of: member) else { return }
            try context.database.execute(
                sql: "DELETE FROM dirents WHERE inode = ?", arguments: [member])
            let synced = try context.database.synced(member)
            let name: FileName
            if let synced,
                try context.hasRow("check_reached WHERE inode = ?", [synced.parent]),
                try context.database.dirent(synced.name, in: synced.parent) == nil
            {
                name = synced.name
                try self.name(member, name, in: synced.parent)
            } else {
                name = try freeName("found-\(member)")
                try self.name(member, name, in: .root)
            }
            try context.tell(
                .circle, member, "the directory \"\(dirent.name)\" is its own ancestor",
                repair: "it is named \"\(name)\"")
        }
    }

    /// Follows the parents until one repeats.
    private func memberOfCircle(above start: InodeNumber) throws -> InodeNumber {
        var seen: Set<InodeNumber> = []
        var current = start
        while seen.insert(current).inserted {
            guard let dirent = try context.database.dirent(of: current) else { return current }
            current = dirent.parent
        }
        return current
    }
}
