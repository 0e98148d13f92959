import GRDB

// The bytes of files: what the database says of them, and what is there.

extension CheckRun {
    /// Notes all content files, and moves away what is none.
    func readContent() throws {
        let paths = try files(below: StateFiles.contentFolder)
        report.contentFiles = paths.count
        for (index, path) in paths.enumerated() {
            if index % 256 == 0 { note("content files", done: index, of: paths.count) }
            let size = try onDisk { () throws(DiskError) in try disk.open(path).status().size }
            if let inode = StateFiles.inode(ofContentAt: path) {
                try database.execute(
                    sql: "INSERT OR REPLACE INTO check_content VALUES (?, ?)",
                    arguments: [inode.rawValue, size.stored])
            } else {
                let place = try moveToLost(path, inode: nil, was: path.description)
                try tell(
                    .stray, path: path.description, "it is not where content files are",
                    repair: "it is moved to \(place)")
            }
        }
    }

    /// How long the content file of an inode is; nil where there is none.
    func contentSize(of inode: InodeNumber) throws -> UInt64? {
        try Int64.fetchOne(
            database, sql: "SELECT size FROM check_content WHERE inode = ?",
            arguments: [inode.rawValue]
        ).map { UInt64(stored: $0) }
    }

    /// Whether there is something in the content that only we have.
    func isChanged(_ record: InodeRecord) throws -> Bool {
        guard record.kind == .file else { return false }
        if try database.isChangedHere(record) { return true }
        return try record.isWriting && database.isPending(record.id)
    }

    private func update(_ record: InodeRecord) throws {
        try database.update(record)
        if record.presence != .partial { try database.setExtents(ExtentSet(), of: record.id) }
    }

    // MARK: Extents

    func checkExtents() throws {
        try database.execute(
            sql: "DELETE FROM extents WHERE typeof(start) <> 'integer' OR typeof(stop) <> 'integer'"
        )
        try forEach(
            """
            SELECT DISTINCT inode FROM extents AS extent WHERE inode > :last AND (
                NOT EXISTS (SELECT 1 FROM inodes WHERE id = inode AND kind = 0 AND presence = 1)
                OR start < 0 OR stop <= start
                OR stop > (SELECT size FROM inodes WHERE id = inode) AND stop <> \(Int64.max)
                OR EXISTS (SELECT 1 FROM extents WHERE inode = extent.inode
                    AND start > extent.start AND start < extent.stop)
            ) ORDER BY inode
            """
        ) { row in try repairExtents(of: InodeNumber(rawValue: row[0])) }
    }

    private func repairExtents(of inode: InodeNumber) throws {
        guard let record = try database.inode(inode), record.presence == .partial,
            record.kind == .file
        else {
            try database.setExtents(ExtentSet(), of: inode)
            return try tell(
                .extents, inode, "there are extents of what is not partly here",
                repair: "they are removed")
        }
        var extents = ExtentSet()
        let rows = try Row.fetchAll(
            database, sql: "SELECT start, stop FROM extents WHERE inode = ?",
            arguments: [inode.rawValue])
        for row in rows {
            let (start, stop): (Int64, Int64) = (row[0], row[1])
            let end = stop == .max ? stop : min(stop, record.size.stored)
            if start >= 0, start < end { extents.insert(UInt64(start)..<UInt64(end)) }
        }
        var kept = ""
        if try isChanged(record), try contentSize(of: inode) ?? 0 > 0 {
            // What is cut off may be what was written.
            let path = StateFiles.content(of: inode)
            let place = lostPlace(inode: inode, was: try describe(inode) ?? path.description)
            if !isDryRun {
                try onDisk { () throws(DiskError) in
                    _ = try disk.clone(disk.open(path), to: place)
                }
            }
            kept = "; a copy of all its bytes is in \(place)"
        }
        try database.setExtents(extents, of: inode)
        try tell(
            .extents, inode, "its extents overlap, are empty, or reach beyond its end",
            repair: "they are cut to what can be" + kept)
    }

    // MARK: Presence

    private static let sizes = """
        FROM inodes LEFT JOIN check_content AS content ON content.inode = id
        WHERE id > :last AND kind = 0 AND links > 0
        """

    func checkPresence() throws {
        // A file that is being written has the length of its content; the engine looks at it.
        try forEach(
            """
            SELECT id \(Self.sizes) AND presence = 2
                AND coalesce(content.size, 0) <> inodes.size
                AND (writing = 0 OR content.size IS NULL) ORDER BY id
            """
        ) { row in try repairWhole(InodeNumber(rawValue: row[0])) }
        let needed = """
            (SELECT max(min(stop, inodes.size)) FROM extents
                WHERE inode = id AND stop <> \(Int64.max))
            """
        try forEach(
            """
            SELECT id \(Self.sizes) AND presence = 1
                AND (content.size IS NULL OR writing = 0 AND content.size < \(needed)) ORDER BY id
            """
        ) { row in try repairPartial(InodeNumber(rawValue: row[0])) }
        // What nobody ever changed here, and the remote has deleted while somebody had it open, has a
        // content file of the right length, and perhaps nothing in it.
        try forEach(
            """
            SELECT id \(Self.sizes) AND presence = 0 AND writing = 0 AND inodes.size > 0
                AND (generation > 0 OR EXISTS (SELECT 1 FROM synced WHERE inode = id))
                AND NOT EXISTS (SELECT 1 FROM synced WHERE inode = id AND etag NOT NULL
                    AND generation = inodes.generation) ORDER BY id
            """
        ) { row in try repairAbsent(InodeNumber(rawValue: row[0])) }
        try forEach(
            """
            SELECT inode FROM unsynced WHERE inode > :last
                AND NOT EXISTS (SELECT 1 FROM inodes WHERE id = inode AND kind = 0) ORDER BY inode
            """
        ) { row in
            let inode = InodeNumber(rawValue: row[0])
            try database.forgetDurability(of: inode)
            try tell(
                .content, inode, "a row of unsynced is about what is no file",
                repair: "the row is removed")
        }
    }

    private func repairWhole(_ inode: InodeNumber) throws {
        guard var record = try database.inode(inode) else { return }
        let size = try contentSize(of: inode)
        let what =
            size.map { "its content file has \($0) of \(record.size) bytes" }
            ?? "its content file is missing"
        guard try isChanged(record) else {
            return try fetchAgain(&record, what)
        }
        guard let size, size > record.size else { return try giveUp(&record, what) }
        record.size = size
        record.generation += 1
        record.modified = max(record.modified, now)
        try update(record)
        try database.markPending(inode, at: now)
        try tell(
            .content, inode, what, repair: "it is as long as its content file now, and is sent")
    }

    private func repairPartial(_ inode: InodeNumber) throws {
        guard var record = try database.inode(inode) else { return }
        let what = "bytes that should be here are not in its content file"
        if try isChanged(record) {
            try giveUp(&record, what)
        } else {
            try fetchAgain(&record, what)
        }
    }

    /// A changed file of which the database says that nothing is here.
    private func repairAbsent(_ inode: InodeNumber) throws {
        guard var record = try database.inode(inode) else { return }
        guard let size = try contentSize(of: inode), size == record.size, try isFilled(inode, size)
        else { return try giveUp(&record, "it was changed here, and its bytes are not here") }
        record.presence = .whole
        try update(record)
        try database.markPending(inode, at: now)
        try tell(
            .content, inode, "its bytes are here, though the database says that they are not",
            repair: "it keeps them, and is sent")
    }

    /// Whether all of a content file was written, as far as that can be seen. It has its length from
    /// the open, before its bytes, and what was not written reads as zeros.
    private func isFilled(_ inode: InodeNumber, _ size: UInt64) throws -> Bool {
        let file = try onDisk { () throws(DiskError) in
            try disk.open(StateFiles.content(of: inode))
        }
        var block = [UInt8](repeating: 0, count: Self.blockBytes)
        var offset: UInt64 = 0
        while offset < size {
            let count = try block.withUnsafeMutableBytes { try file.read(into: $0, at: offset) }
            guard block.prefix(count).contains(where: { $0 != 0 }) else { return false }
            offset += UInt64(count)
        }
        return true
    }

    /// What file systems allocate, and leave out in a hole.
    private static let blockBytes = 4_096

    /// The remote has the same version. Bytes that should not be as they are, are kept aside.
    private func fetchAgain(_ record: inout InodeRecord, _ what: String) throws {
        let kept = try setContentAside(of: record.id)
        (record.presence, record.isWriting) = (.remote, false)
        try update(record)
        try tell(
            .content, record.id, what,
            repair: "it is fetched again" + (kept.map { "; what was here is in \($0)" } ?? ""))
    }

    /// Nobody has the bytes any more. The file stays, shows no wrong bytes, and says so in the
    /// status: the engine refuses to open or send a whole file whose content file is short.
    private func giveUp(_ record: inout InodeRecord, _ what: String) throws {
        let path = try describe(record.id) ?? "inode \(record.id)"
        let kept = try setContentAside(of: record.id)
        let generation = try database.synced(record.id)?.generation
        (record.presence, record.isWriting) = (.whole, false)
        if generation == record.generation { record.generation += 1 }
        try update(record)
        try database.markPending(record.id, at: now)
        try database.setFailure(
            SyncFailure(
                kind: .damaged, what: "send \"\(path)\"", why: "its bytes are lost: \(what)",
                remedy: ContentStore.lostBytesRemedy, isFinal: true),
            attempts: 1, of: record.id)
        try tell(
            .content, record.id, path: path, what,
            repair: kept.map { "what is left of it is in \($0)" },
            loss: generation == nil
                ? "a file that was only here" : "what was changed here; the remote has it as before"
        )
    }

    private func setContentAside(of inode: InodeNumber) throws -> DiskPath? {
        // Nothing that is fetched or written from now on is as safe as these bytes were.
        try database.forgetDurability(of: inode)
        guard try contentSize(of: inode) ?? 0 > 0 else { return nil }
        try database.execute(
            sql: "DELETE FROM check_content WHERE inode = ?", arguments: [inode.rawValue])
        return try moveToLost(
            StateFiles.content(of: inode), inode: inode, was: try describe(inode))
    }

    // MARK: What belongs to nothing

    /// Content files of inodes that are not there or are no files. Those of unlinked files, and of
    /// files that were evicted, are what a killed process leaves; the engine removes them.
    func checkStrays() throws {
        try forEach(
            """
            SELECT check_content.inode, size FROM check_content WHERE check_content.inode > :last
                AND NOT EXISTS (SELECT 1 FROM inodes WHERE id = check_content.inode AND kind = 0)
            ORDER BY check_content.inode
            """
        ) { row in
            guard row[1] as Int64 > 0 else { return }
            let inode = InodeNumber(rawValue: row[0])
            let old = try describe(inode)
            let place = try moveToLost(StateFiles.content(of: inode), inode: inode, was: old)
            try tell(
                .stray, inode, path: old, "\(row[1] as Int64) bytes belong to no file",
                repair: "they are in \(place)")
        }
    }
}
