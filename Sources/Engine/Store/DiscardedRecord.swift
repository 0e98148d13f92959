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

    /// Whether the bytes of a file that is to be moved to the trash are not on the disk yet.
    func isDiscardedUnsafely(_ inode: InodeNumber) throws -> Bool {
        try hasRow(
            """
            discarded JOIN unsynced ON unsynced.inode = discarded.inode
            WHERE discarded.inode = ? AND state < 2 AND failed = 0
            """, [inode])
    }

    /// Removes the rows of files that may be torn after a power failure: these are not worth
    /// keeping.
    func forgetUnsafeDiscarded() throws {
        for table in ["trash", "discarded"] {
            try run(
                """
                DELETE FROM \(table) WHERE inode IN (
                    SELECT discarded.inode FROM discarded
                    JOIN unsynced ON unsynced.inode = discarded.inode WHERE state < 2)
                """)
        }
    }
}
