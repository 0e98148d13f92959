import GRDB

/// An inode's record, and whether the remote had further metadata at the time it was read.
struct FoundRecord {
    var record: InodeRecord
    var isUnseen: Bool
}

extension Database {
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
