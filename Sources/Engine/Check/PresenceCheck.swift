import GRDB

/// Compares the presence of each file with its content file.
struct PresenceCheck: CheckStep {
    let context: CheckContext

    private static let files = """
        FROM inodes LEFT JOIN check_content AS content ON content.inode = id
        WHERE id > :last AND kind = 0 AND links > 0
        """

    func run() throws {
        // A file that is being written has the length of its content; the engine recovers it.
        try context.forEach(
            """
            SELECT id \(Self.files) AND presence = 2
                AND coalesce(content.size, 0) <> inodes.size
                AND (writing = 0 OR content.size IS NULL) ORDER BY id
            """
        ) { row in try repairWhole(row[0]) }
        let needed = """
            (SELECT max(min(stop, inodes.size)) FROM extents
                WHERE inode = id AND stop <> \(Int64.max))
            """
        try context.forEach(
            """
            SELECT id \(Self.files) AND presence = 1
                AND (content.size IS NULL OR writing = 0 AND content.size < \(needed)) ORDER BY id
            """
        ) { row in try repairPartial(row[0]) }
        // An unchanged file that was deleted on the remote while it was open has a content file of
        // the right length, perhaps without bytes.
        try context.forEach(
            """
            SELECT id \(Self.files) AND presence = 0 AND writing = 0 AND inodes.size > 0
                AND (generation > 0 OR EXISTS (SELECT 1 FROM synced WHERE inode = id))
                AND NOT EXISTS (SELECT 1 FROM synced WHERE inode = id AND etag NOT NULL
                    AND generation = inodes.generation) ORDER BY id
            """
        ) { row in try repairAbsent(row[0]) }
        try removeForeignDurability()
    }

    private func removeForeignDurability() throws {
        try context.forEach(
            """
            SELECT inode FROM unsynced WHERE inode > :last
                AND NOT EXISTS (SELECT 1 FROM inodes WHERE id = inode AND kind = 0) ORDER BY inode
            """
        ) { row in
            let inode: InodeNumber = row[0]
            try context.database.forgetDurability(of: inode)
            try context.tell(
                .content, inode, "a row of unsynced does not refer to a file",
                repair: "the row is removed")
        }
    }

    private func repairWhole(_ inode: InodeNumber) throws {
        guard var record = try context.database.inode(inode) else { return }
        let size = try context.contentSize(of: inode)
        let fault =
            size.map { "its content file has \($0) of \(record.size) bytes" }
            ?? "its content file is missing"
        guard try context.isChanged(record) else { return try fetchAgain(&record, fault) }
        guard let size, size > record.size else { return try giveUp(&record, fault) }
        record.size = size
        record.generation += 1
        record.modified = max(record.modified, context.now)
        try update(record)
        try context.database.markPending(inode, at: context.now)
        try context.tell(
            .content, inode, fault,
            repair: "its size is set to that of its content file, and it is uploaded")
    }

    private func repairPartial(_ inode: InodeNumber) throws {
        guard var record = try context.database.inode(inode) else { return }
        let fault = "local bytes are missing in its content file"
        if try context.isChanged(record) {
            try giveUp(&record, fault)
        } else {
            try fetchAgain(&record, fault)
        }
    }

    /// Repairs a changed file that has no local bytes according to the database.
    private func repairAbsent(_ inode: InodeNumber) throws {
        guard var record = try context.database.inode(inode) else { return }
        guard let size = try context.contentSize(of: inode), size == record.size,
            try isFilled(inode, size)
        else { return try giveUp(&record, "it has local changes, but no local bytes") }
        record.presence = .whole
        try update(record)
        try context.database.markPending(inode, at: context.now)
        try context.tell(
            .content, inode, "it has local bytes, but none according to the database",
            repair: "it keeps them, and is uploaded")
    }

    /// Whether each block of a content file holds a byte other than zero. A content file gets its
    /// length when it is opened, before its bytes; those not written read as zeros.
    private func isFilled(_ inode: InodeNumber, _ size: UInt64) throws -> Bool {
        let file = try context.files.open(StateFiles.content(of: inode))
        var block = [UInt8](repeating: 0, count: Self.blockBytes)
        var offset: UInt64 = 0
        while offset < size {
            let count = try block.withUnsafeMutableBytes { try file.read(into: $0, at: offset) }
            guard block.prefix(count).contains(where: { $0 != 0 }) else { return false }
            offset += UInt64(count)
        }
        return true
    }

    /// The unit in which file systems allocate space and leave holes.
    private static let blockBytes = 4_096

    /// Marks a file that is unchanged on the remote for download. Its unexpected bytes are kept
    /// aside.
    private func fetchAgain(_ record: inout InodeRecord, _ fault: String) throws {
        let kept = try setContentAside(of: record.id)
        (record.presence, record.isWriting) = (.remote, false)
        try update(record)
        try context.tell(
            .content, record.id, fault,
            repair: "it is downloaded again" + (kept.map { "; its old bytes are in \($0)" } ?? ""))
    }

    /// Marks a file whose bytes are lost. It stays, and the status shows the failure: the engine
    /// refuses to open or upload a whole file whose content file is too short.
    private func giveUp(_ record: inout InodeRecord, _ fault: String) throws {
        let path = try context.describe(record.id) ?? "inode \(record.id)"
        let kept = try setContentAside(of: record.id)
        let generation = try context.database.synced(record.id)?.generation
        (record.presence, record.isWriting) = (.whole, false)
        if generation == record.generation { record.generation += 1 }
        try update(record)
        try context.database.markPending(record.id, at: context.now)
        try context.database.setFailure(
            SyncFailure(
                kind: .damaged, what: "send \"\(path)\"", why: "its bytes are lost: \(fault)",
                remedy: SyncFailure.lostBytesRemedy, isFinal: true),
            attempts: 1, of: record.id)
        try context.tell(
            .content, record.id, path: path, fault,
            repair: kept.map { "its remaining bytes are in \($0)" },
            loss: generation == nil
                ? "a file that was never uploaded"
                : "its local changes; the remote has the previous version")
    }

    private func update(_ record: InodeRecord) throws {
        try context.database.update(record)
        if record.presence != .partial {
            try context.database.setExtents(ExtentSet(), of: record.id)
        }
    }

    private func setContentAside(of inode: InodeNumber) throws -> DiskPath? {
        // Bytes that are downloaded or written from now on are not on the disk yet.
        try context.database.forgetDurability(of: inode)
        guard try context.contentSize(of: inode) ?? 0 > 0 else { return nil }
        try context.forgetContent(of: inode)
        return try context.files.moveToLost(
            StateFiles.content(of: inode), inode: inode, was: context.describe(inode))
    }
}
