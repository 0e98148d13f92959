import GRDB

/// Makes every inode reachable from the root: gives those without a name a new one, or moves their
/// bytes to `lost+found/`, and breaks circles of directories.
struct ReachCheck: CheckStep {
    let context: CheckContext

    func run() throws {
        try reach(from: .root)
        try placeOrphans()
        try context.breakCircles(in: "dirents") {
            try database.dirent(of: $0)?.parent
        } cut: {
            try placeCircle($0)
        }
    }

    private func reach(from inode: InodeNumber) throws {
        try context.reach(from: "SELECT \(inode)", by: "dirents")
    }

    private func placeOrphans() throws {
        // First at their remote paths, repeatedly, as one may be the parent of another.
        var isProgress = true
        while isProgress {
            isProgress = false
            try forEachOrphan { if try placeAsOnRemote($0) { isProgress = true } }
        }
        try forEachOrphan(placeElsewhere)
    }

    private func forEachOrphan(_ place: (InodeNumber) throws -> Void) throws {
        try context.forEach(
            "id", of: "inodes",
            where: """
                id <> 1 AND links > 0 AND NOT EXISTS (SELECT 1 FROM dirents WHERE inode = id)
                """
        ) { inode, _ in try place(inode) }
    }

    /// Gives an inode its name on the remote, if that is free.
    private func placeAsOnRemote(_ inode: InodeNumber) throws -> Bool {
        guard let synced = try database.synced(inode),
            try database.hasRow(
                """
                check_reached JOIN inodes ON id = inode
                WHERE inode = ? AND kind = 1 AND links > 0
                """, [synced.parent]),
            try database.dirent(synced.name, in: synced.parent) == nil
        else { return false }
        try name(inode, synced.name, in: synced.parent)
        try context.tell(
            .orphan, inode, "it has no local name", repair: "it is given its name on the remote")
        return true
    }

    private func name(_ inode: InodeNumber, _ name: FileName, in parent: InodeNumber) throws {
        try database.run(
            "INSERT INTO dirents (parent, name, inode) VALUES (?, ?, ?)", [parent, name, inode])
        try database.markPending(inode, at: context.now)
        try reach(from: inode)
    }

    private func placeElsewhere(_ inode: InodeNumber) throws {
        guard let record = try database.inode(inode) else { return }
        let old = try context.describe(inode)
        if record.kind == .directory, try database.hasDirents(inode) {
            let name = try freeName("found-\(inode)")
            try self.name(inode, name, in: .root)
            return try context.tell(
                .orphan, inode, "a directory has no name, and its former name is not known",
                repair: "it is named \"\(name)\"")
        }
        let synced = try database.synced(inode)
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
        try database.deleteInode(inode)
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
        while try database.dirent(name, in: .root) != nil {
            attempt += 1
            name = FileName(stored: Array("\(text)-\(attempt)".utf8))
        }
        return name
    }

    /// Places a directory that contains itself, with its descendants.
    private func placeCircle(_ member: InodeNumber) throws {
        guard let dirent = try database.dirent(of: member) else { return }
        try database.run("DELETE FROM dirents WHERE inode = ?", [member])
        let name: FileName
        if let synced = try database.synced(member),
            try database.hasRow("check_reached WHERE inode = ?", [synced.parent]),
            try database.dirent(synced.name, in: synced.parent) == nil
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
