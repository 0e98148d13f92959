import GRDB

extension Database {
    /// What is to be shown of an inode, if nobody has to look at it first. Both are of one moment: a
    /// look that lands in between may have put another inode in its place.
    func seen(_ record: InodeRecord) throws -> SeenRecord {
        SeenRecord(record: record, isUnseen: try isUnseen(record))
    }

    func isUnseen(_ record: InodeRecord) throws -> Bool {
        guard !record.isDetailed, let synced = try synced(record.id) else { return false }
        // Where the remote has something else by now, what it had is not to be known any more.
        return try remote(record.id, name: synced.name) == nil
    }

    /// Has whoever looks at an inode ask the remote what it knows of it.
    ///
    /// - Returns: Whether that was known so far.
    func forgetDetails(of inode: InodeNumber) throws -> Bool {
        guard var record = try self.inode(inode), record.isDetailed else { return false }
        record.isDetailed = false
        try update(record)
        return true
    }
}

/// An inode as it was found, and whether the remote knew more of it at that moment.
struct SeenRecord {
    var record: InodeRecord
    var isUnseen: Bool
}

extension Database {
    /// Whether the remote may have extended attributes of an inode that are not known here.
    func lacksDetails(_ record: InodeRecord, _ traits: ProviderTraits) throws -> Bool {
        guard traits.extendedAttributes != nil else { return false }
        return try isUnseen(record)
    }
}
