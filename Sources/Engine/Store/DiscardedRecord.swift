import GRDB

/// One row of `discarded`: a file deleted on the remote that is to be moved to the trash.
struct DiscardedRecord {
    var name: FileName
    /// The time at which the deletion was seen.
    var time: Timestamp
}

extension Database {
    func setDiscarded(_ discarded: DiscardedRecord, of inode: InodeNumber) throws {
        try run(
            "INSERT OR REPLACE INTO discarded VALUES (?, ?, ?)",
            [inode, discarded.name, discarded.time])
    }

    func discarded(_ inode: InodeNumber) throws -> DiscardedRecord? {
        try row("SELECT name, time FROM discarded WHERE inode = ?", [inode]) {
            DiscardedRecord(name: $0[0], time: $0[1])
        }
    }

    /// Removes the rows of files that may be torn after a power failure: these are not worth
    /// keeping.
    func forgetUnsafeDiscarded() throws {
        try run(
            "DELETE FROM discarded WHERE inode IN (SELECT inode FROM unsynced WHERE state < 2)")
    }
}
