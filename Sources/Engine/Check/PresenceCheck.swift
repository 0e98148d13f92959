import GRDB

/// Compares the presence of each file with its content file.
struct PresenceCheck: CheckStep {
    let context: CheckContext

    func run() throws {
        // A file that is being written has the length of its content; the engine recovers it.
        try forEachFile(
            where: """
                presence = 2 AND coalesce(content.size, 0) <> inodes.size
                AND (writing = 0 OR content.size IS NULL)
                """, repairWhole)
        try forEachFile(
            where: """
                presence = 1 AND (content.size IS NULL OR writing = 0 AND content.size < (
                    SELECT max(min(stop, inodes.size)) FROM extents
                    WHERE inode = id AND stop <> \(Int64.max)))
                """, repairPartial)
        // An unchanged file that was deleted on the remote while it was open has a content file of
        // the right length, perhaps without bytes.
        try forEachFile(
            where: """
                presence = 0 AND writing = 0 AND inodes.size > 0
                AND (generation > 0 OR EXISTS (SELECT 1 FROM synced WHERE inode = id))
                AND NOT EXISTS (SELECT 1 FROM synced WHERE inode = id AND etag NOT NULL
                    AND generation = inodes.generation)
                """, repairAbsent)
        try context.removeRows(
            of: "unsynced",
            where: "NOT EXISTS (SELECT 1 FROM inodes WHERE id = inode AND kind = 0)", .content,
            "does not refer to a file")
    }

    private func forEachFile(
        where condition: String, _ repair: (InodeRecord) throws -> Void
    ) throws {
        try context.forEach(
            "id", of: "inodes LEFT JOIN check_content AS content ON content.inode = id",
            where: "kind = 0 AND links > 0 AND \(condition)"
        ) { inode, _ in
            if let record = try database.inode(inode) { try repair(record) }
        }
    }

    private func repairWhole(_ record: InodeRecord) throws {
        let size = try context.contentSize(of: record.id)
        let fault =
            size.map { "its content file has \($0) of \(record.size) bytes" }
            ?? "its content file is missing"
        guard try context.isChanged(record) else { return try fetchAgain(record, fault) }
        guard let size, size > record.size else { return try giveUp(record, fault) }
        var record = record
        record.size = size
        record.generation += 1
        record.modified = max(record.modified, context.now)
        try update(record)
        try database.markPending(record.id, at: context.now)
        try context.tell(
            .content, record.id, fault,
            repair: "its size is set to that of its content file, and it is uploaded")
    }

    private func repairPartial(_ record: InodeRecord) throws {
        let fault = "local bytes are missing in its content file"
        if try context.isChanged(record) {
            try giveUp(record, fault)
        } else {
            try fetchAgain(record, fault)
        }
    }

    /// Repairs a changed file that has no local bytes according to the database.
    private func repairAbsent(_ record: InodeRecord) throws {
        guard try context.contentSize(of: record.id) == record.size, try isFilled(record)
        else { return try giveUp(record, "it has local changes, but no local bytes") }
        var record = record
        record.presence = .whole
        try update(record)
        try database.markPending(record.id, at: context.now)
        try context.tell(
            .content, record.id, "it has local bytes, but none according to the database",
            repair: "it keeps them, and is uploaded")
    }

    /// Whether each block of a content file holds a byte other than zero. A content file gets its
    /// length when it is opened, before its bytes; those not written read as zeros.
    private func isFilled(_ record: InodeRecord) throws -> Bool {
        let file = try context.files.open(StateFiles.content(of: record.id))
        var block = [UInt8](repeating: 0, count: Self.blockBytes)
        var offset: UInt64 = 0
        while offset < record.size {
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
    private func fetchAgain(_ record: InodeRecord, _ fault: String) throws {
        var record = record
        let kept = try setContentAside(of: record.id)
        (record.presence, record.isWriting) = (.remote, false)
        try update(record)
        try context.tell(
            .content, record.id, fault,
            repair: "it is downloaded again" + (kept.map { "; its old bytes are in \($0)" } ?? ""))
    }

    /// Marks a file whose bytes are lost. It stays, and the status shows the failure: the engine
    /// refuses to open or upload a whole file whose content file is too short.
    private func giveUp(_ record: InodeRecord, _ fault: String) throws {
        var record = record
        let path = try context.describe(record.id) ?? "inode \(record.id)"
        let kept = try setContentAside(of: record.id)
        let generation = try database.synced(record.id)?.generation
        (record.presence, record.isWriting) = (.whole, false)
        if generation == record.generation { record.generation += 1 }
        try update(record)
        try database.markPending(record.id, at: context.now)
        try database.setFailure(
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
        try database.update(record)
        if record.presence != .partial {
            try database.setExtents(ExtentSet(), of: record.id)
        }
    }

    private func setContentAside(of inode: InodeNumber) throws -> DiskPath? {
        // Bytes that are downloaded or written from now on are not on the disk yet.
        try database.forgetDurability(of: inode)
        guard try context.contentSize(of: inode) ?? 0 > 0 else { return nil }
        try context.forgetContent(of: inode)
        return try context.files.moveToLost(
            StateFiles.content(of: inode), inode: inode, was: context.describe(inode))
    }
}
