import GRDB

/// An inode's record, and whether the remote had further metadata at the time it was read.
struct FoundRecord {
    var record: InodeRecord
    var isUnseen: Bool
}

/// The state of an object whose metadata was requested, read at once.
struct LookedAtRecord {
    var record: InodeRecord
    var synced: SyncedRecord
    /// Whether a change of our own was requested.
    var hasIntent: Bool
    /// Whether another object was observed in its place.
    var isObserved: Bool
}

extension Database {
    /// Returns the state of an inode with an agreed state.
    func lookedAt(_ inode: InodeNumber) throws -> LookedAtRecord? {
        try row(
            """
            SELECT EXISTS (SELECT 1 FROM intents WHERE intents.inode = inodes.id),
                EXISTS (SELECT 1 FROM remote WHERE remote.inode = inodes.id),
                \(SyncedRecord.columns), \(InodeRecord.columns)
            FROM inodes JOIN synced ON synced.inode = inodes.id WHERE inodes.id = ?
            """, [inode]
        ) { row in
            LookedAtRecord(
                record: InodeRecord(row, from: 10), synced: SyncedRecord(row, from: 2),
                hasIntent: row[0], isObserved: row[1])
        }
    }

    /// Stores the agreed metadata of a known version.
    ///
    /// - Parameter remoteModified: See ``RemoteObject/remoteModified``; nil to keep the known one.
    func setMetadata(
        _ synced: SyncedRecord, remoteModified: Timestamp?, of inode: InodeNumber
    ) throws {
        try run(
            """
            UPDATE synced SET mode = ?, modified = ?, xattrs = ?,
                remote_modified = coalesce(?, remote_modified)
            WHERE inode = ?
            """,
            [synced.mode, synced.modified, synced.extendedAttributes, remoteModified, inode])
    }

    /// Returns an inode's metadata and whether it is incomplete, both from one moment: a fetch that
    /// finishes in between may have put another inode in its place.
    func seen(_ record: InodeRecord) throws -> FoundRecord {
        FoundRecord(record: record, isUnseen: try isUnseen(record))
    }

    func isUnseen(_ record: InodeRecord) throws -> Bool {
        guard !record.hasMetadata, let synced = try synced(record.id) else { return false }
        // If the remote has another object by now, the old one's metadata is no longer available.
        return try remote(record.id, name: synced.name) == nil
    }

    /// Marks an inode's metadata as incomplete, so that the next access fetches it.
    ///
    /// - Returns: Whether it was complete until now.
    func forgetMetadata(of inode: InodeNumber) throws -> Bool {
        guard var record = try self.inode(inode), record.hasMetadata else { return false }
        record.hasMetadata = false
        try update(record)
        return true
    }

    /// Whether the remote may have extended attributes of an inode that are not known locally.
    func lacksMetadata(_ record: InodeRecord, _ traits: ProviderTraits) throws -> Bool {
        guard traits.extendedAttributes != nil else { return false }
        return try isUnseen(record)
    }

    /// Makes attributes that a program sets count as changed even if they equal those assumed until
    /// the metadata of the remote is known: the fetched ones must not replace them.
    func keepSet(mode: UInt16?, modified: Timestamp?, of record: InodeRecord) throws {
        guard !record.hasMetadata, let synced = try synced(record.id) else { return }
        if mode == synced.mode {
            try run("UPDATE synced SET mode = ? WHERE inode = ?", [synced.mode ^ 1, record.id])
        }
        if modified == synced.modified {
            let other = Timestamp(nanoseconds: synced.modified.nanoseconds ^ 1)
            try run("UPDATE synced SET modified = ? WHERE inode = ?", [other, record.id])
        }
    }
}
