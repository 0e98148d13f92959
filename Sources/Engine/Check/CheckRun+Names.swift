import GRDB

// Names and what they point at: every inode is below the root, and in one place only.

extension CheckRun {
    func checkNames() throws {
        try recreateParents()
        try checkTargets()
        try checkParents()
        try checkSecondNames()
    }

    /// A directory whose row is gone, or says that it was removed, and that has names in it.
    private func recreateParents() throws {
        try forEach(
            """
            SELECT DISTINCT parent FROM dirents WHERE parent > :last
                AND NOT EXISTS (SELECT 1 FROM inodes WHERE id = parent) ORDER BY parent
            """
        ) { row in
            let inode = InodeNumber(rawValue: row[0])
            guard inode.rawValue > 0 else { return }
            try insertDirectory(inode, links: 2)
            try tell(
                .name, inode, "a directory with names in it is not there",
                repair: "it is made anew, with the mode 755")
        }
        try forEach(
            """
            SELECT id FROM inodes WHERE id > :last AND kind = 1 AND links = 0
                AND EXISTS (SELECT 1 FROM dirents WHERE parent = id) ORDER BY id
            """
        ) { row in
            let inode = InodeNumber(rawValue: row[0])
            try database.execute(
                sql: "UPDATE inodes SET links = 2 WHERE id = ?", arguments: [inode.rawValue])
            try tell(
                .name, inode, "a removed directory has names in it", repair: "it comes back")
        }
    }

    /// Names of inodes that are not there.
    private func checkTargets() throws {
        try forEach(
            """
            SELECT cookie, inode, parent FROM dirents WHERE cookie > :last
                AND NOT EXISTS (SELECT 1 FROM inodes WHERE id = inode) ORDER BY cookie
            """
        ) { row in
            let inode = InodeNumber(rawValue: row[1])
            let path = try describe(inode)
            let isKnownThere = try hasRow("synced WHERE inode = ?", [inode.rawValue])
            if !isKnownThere, let size = try contentSize(of: inode) {
                try recreateFile(inode, size: size)
                return try tell(
                    .name, inode, "a name leads to a file that is not there, but its bytes are",
                    repair: "the file is made anew from its bytes, with the mode 644")
            }
            if let path {
                try database.execute(
                    sql: "INSERT OR IGNORE INTO check_paths VALUES (?, ?)",
                    arguments: [inode.rawValue, path])
            }
            try database.execute(
                sql: "DELETE FROM dirents WHERE cookie = ?", arguments: [row[0] as Int64])
            try unlist(InodeNumber(rawValue: row[2]))
            try tell(
                .name, inode, path: path, "a name leads to nothing",
                repair: isKnownThere
                    ? "the name is removed; what the remote has there comes back with the next look"
                    : "the name is removed",
                loss: isKnownThere ? nil : "what it was, unless the remote has it")
        }
    }

    private func recreateFile(_ inode: InodeNumber, size: UInt64) throws {
        try database.execute(
            sql: """
                INSERT INTO inodes (id, kind, mode, uid, gid, links, size, modified, changed,
                    presence, generation, writing, listed, accessed)
                VALUES (?, 0, 420, ?, ?, 1, ?, ?, ?, 2, 1, 0, 0, ?)
                """,
            arguments: [
                inode.rawValue, owner.userID, owner.groupID, size.stored, now.nanoseconds,
                now.nanoseconds, now.nanoseconds,
            ])
        try database.markPending(inode, at: now)
    }

    /// Names in what is no directory. Their inodes are placed later.
    private func checkParents() throws {
        try forEach(
            """
            SELECT cookie, inode FROM dirents WHERE cookie > :last AND NOT EXISTS
                (SELECT 1 FROM inodes WHERE id = parent AND kind = 1) ORDER BY cookie
            """
        ) { row in
            let inode = InodeNumber(rawValue: row[1])
            try tell(
                .name, inode, "a name lies in what is no directory",
                repair: "the name is removed, and its inode placed anew")
            try removeName(cookie: row[0], of: inode)
        }
    }

    /// A directory has one name.
    private func checkSecondNames() throws {
        try forEach(
            """
            SELECT cookie, inode FROM dirents AS other WHERE cookie > :last
                AND EXISTS (SELECT 1 FROM inodes WHERE id = inode AND kind = 1)
                AND EXISTS (SELECT 1 FROM dirents WHERE inode = other.inode
                    AND cookie < other.cookie) ORDER BY cookie
            """
        ) { row in
            let inode = InodeNumber(rawValue: row[1])
            try database.execute(
                sql: "DELETE FROM dirents WHERE cookie = ?", arguments: [row[0] as Int64])
            try tell(
                .name, inode, "a directory has a second name",
                repair: "it keeps the one shown here")
        }
    }

    /// Takes a name away, and remembers for people what it was.
    private func removeName(cookie: Int64, of inode: InodeNumber) throws {
        if let path = try describe(inode) {
            try database.execute(
                sql: "INSERT OR IGNORE INTO check_paths VALUES (?, ?)",
                arguments: [inode.rawValue, path])
        }
        try database.execute(sql: "DELETE FROM dirents WHERE cookie = ?", arguments: [cookie])
        // An inode that lost a name has one too few, not none that it should have.
        try database.execute(
            sql: "UPDATE inodes SET links = max(links, 1) WHERE id = ?",
            arguments: [inode.rawValue])
    }

    // MARK: What can be reached

    func checkReach() throws {
        try reach(from: .root)
        try placeOrphans()
        try breakCircles()
    }

    /// Notes an inode and all that lies below it.
    private func reach(from inode: InodeNumber) throws {
        try database.execute(
            sql: """
                WITH RECURSIVE below (inode) AS (
                    SELECT ? UNION
                    SELECT dirents.inode FROM below JOIN dirents ON dirents.parent = below.inode)
                INSERT OR IGNORE INTO check_reached SELECT inode FROM below
                """,
            arguments: [inode.rawValue])
    }

    private static let orphans = """
        SELECT id FROM inodes WHERE id > :last AND id <> 1 AND links > 0
            AND NOT EXISTS (SELECT 1 FROM dirents WHERE inode = id) ORDER BY id
        """

    private func placeOrphans() throws {
        // First where the remote has them, over and over, as one may have its place in another.
        var isProgress = true
        while isProgress {
            isProgress = false
            try forEach(Self.orphans) { row in
                let inode = InodeNumber(rawValue: row[0])
                if try placeAsOnRemote(inode) { isProgress = true }
            }
        }
        try forEach(Self.orphans) { row in try placeElsewhere(InodeNumber(rawValue: row[0])) }
    }

    /// Gives an inode the name that it has on the remote, if that is free.
    private func placeAsOnRemote(_ inode: InodeNumber) throws -> Bool {
        guard let synced = try database.synced(inode),
            try hasRow(
                """
                check_reached JOIN inodes ON id = inode
                WHERE inode = ? AND kind = 1 AND links > 0
                """, [synced.parent.rawValue]),
            try database.dirent(synced.name, in: synced.parent) == nil
        else { return false }
        try name(inode, synced.name, in: synced.parent)
        try tell(
            .orphan, inode, "it has no name here",
            repair: "it gets the one that it has on the remote")
        return true
    }

    private func name(_ inode: InodeNumber, _ name: FileName, in parent: InodeNumber) throws {
        try database.execute(
            sql: "INSERT INTO dirents (parent, name, inode) VALUES (?, ?, ?)",
            arguments: [parent.rawValue, name.data, inode.rawValue])
        try database.markPending(inode, at: now)
        try reach(from: inode)
    }

    private func placeElsewhere(_ inode: InodeNumber) throws {
        guard let record = try database.inode(inode) else { return }
        let old = try describe(inode)
        if record.kind == .directory, try database.hasDirents(inode) {
            let name = try freeName("found-\(inode)")
            try self.name(inode, name, in: .root)
            return try tell(
                .orphan, inode, "a directory has no name, and nobody knows what it was",
                repair: "it is \"\(name)\" now")
        }
        let synced = try database.synced(inode)
        if record.kind == .file, try isChanged(record) {
            try saveOrphan(record, was: old)
        } else if record.kind == .symlink, synced == nil {
            let place = lostPlace(inode: inode, was: "\(old ?? "link").symlink")
            try write(record.target ?? [], to: place)
            try tell(
                .orphan, inode, path: old, "a symbolic link has no name",
                repair: "where it leads is written in \(place)")
        } else {
            try tell(
                .orphan, inode, path: old, "it has no name, and nothing that only we have",
                repair: synced == nil ? "it is removed" : "it comes back from the remote")
        }
        try database.execute(
            sql: "DELETE FROM check_content WHERE inode = ?", arguments: [inode.rawValue])
        if record.kind == .file, !isDryRun {
            // What was worth keeping has been moved.
            try onDisk { () throws(DiskError) in try disk.remove(StateFiles.content(of: inode)) }
        }
        try database.deleteInode(inode)
        if let synced { try unlist(synced.parent) }
    }

    /// Keeps the bytes of a changed file that nobody knows a name for.
    private func saveOrphan(_ record: InodeRecord, was old: String?) throws {
        let size = try contentSize(of: record.id)
        guard let size, size > 0 || record.size == 0 else {
            return try tell(
                .orphan, record.id, path: old, "a changed file has neither a name nor bytes",
                repair: "it is removed", loss: "\(record.size) bytes")
        }
        let place = try moveToLost(StateFiles.content(of: record.id), inode: record.id, was: old)
        let isPartial = record.presence != .whole
        try tell(
            .orphan, record.id, path: old, "a changed file has no name",
            repair: "its bytes are in \(place)",
            loss: isPartial ? "the bytes of it that were not here; they read as zeros" : nil)
    }

    private func freeName(_ text: String) throws -> FileName {
        var name = FileName(stored: Array(text.utf8))
        var attempt = 1
        while try database.dirent(name, in: .root) != nil {
            attempt += 1
            name = FileName(stored: Array("\(text)-\(attempt)".utf8))
        }
        return name
    }

    /// Directories that lie in each other, and all below them.
    private func breakCircles() throws {
        while let start = try Int64.fetchOne(
            database,
            sql: """
                SELECT inode FROM dirents
                WHERE inode NOT IN (SELECT inode FROM check_reached) LIMIT 1
                """)
        {
            let member = try memberOfCircle(above: InodeNumber(rawValue: start))
            guard let dirent = try database.dirent(of: member) else { return }
            try database.execute(
                sql: "DELETE FROM dirents WHERE inode = ?", arguments: [member.rawValue])
            let synced = try database.synced(member)
            let name: FileName
            if let synced, try hasRow("check_reached WHERE inode = ?", [synced.parent.rawValue]),
                try database.dirent(synced.name, in: synced.parent) == nil
            {
                name = synced.name
                try self.name(member, name, in: synced.parent)
            } else {
                name = try freeName("found-\(member)")
                try self.name(member, name, in: .root)
            }
            try tell(
                .circle, member, "the directory \"\(dirent.name)\" lies below itself",
                repair: "it is \"\(name)\" now")
        }
    }

    /// Follows the way up until it repeats itself.
    private func memberOfCircle(above start: InodeNumber) throws -> InodeNumber {
        var seen: Set<InodeNumber> = []
        var current = start
        while seen.insert(current).inserted {
            guard let dirent = try database.dirent(of: current) else { return current }
            current = dirent.parent
        }
        return current
    }

    // MARK: Link counts

    func checkLinks() throws {
        let names = "(SELECT count(*) FROM dirents WHERE inode = inodes.id)"
        let folders = """
            (SELECT count(*) FROM dirents JOIN inodes AS child ON child.id = dirents.inode
                WHERE dirents.parent = inodes.id AND child.kind = 1)
            """
        try forEach(
            """
            SELECT id, links, counted FROM (
                SELECT id, links, CASE kind WHEN 1 THEN 2 + \(folders) ELSE \(names) END AS counted
                FROM inodes WHERE id > :last AND (id = 1 OR \(names) > 0)
            ) WHERE links <> counted ORDER BY id
            """
        ) { row in
            let inode = InodeNumber(rawValue: row[0])
            let (links, counted): (Int64, Int64) = (row[1], row[2])
            try database.execute(
                sql: "UPDATE inodes SET links = ? WHERE id = ?",
                arguments: [counted, inode.rawValue])
            try tell(
                .links, inode, "its link count is \(links)", repair: "it is set to \(counted)")
        }
    }
}
