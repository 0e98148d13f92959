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
}
