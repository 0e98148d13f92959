import GRDB

/// One row of `discarded`: a file deleted on the remote that is to be moved to the trash.
struct DiscardedRecord {
    var name: FileName
    /// The time at which the deletion was seen.
    var time: Timestamp
}

extension DiscardedRecord: FetchableRecord {
    init(row: Row) {
        self.init(name: row["name"], time: row["time"])
    }
}

extension Database {
    func setDiscarded(_ discarded: DiscardedRecord, of inode: InodeNumber) throws {
        try cachedStatement(sql: "INSERT OR REPLACE INTO discarded VALUES (?, ?, ?)").execute(
            arguments: [inode, discarded.name, discarded.time])
    }

    func discarded(_ inode: InodeNumber) throws -> DiscardedRecord? {
        let statement = try cachedStatement(
            sql: "SELECT name, time FROM discarded WHERE inode = ?")
        return try DiscardedRecord.fetchOne(statement, arguments: [inode])
    }

    func discardedInodes() throws -> [InodeNumber] {
        try InodeNumber.fetchAll(cachedStatement(sql: "SELECT inode FROM discarded ORDER BY inode"))
    }

    /// Removes the rows of files that may be torn after a power failure: these are not worth
    /// keeping.
    func forgetUnsafeDiscarded() throws {
        try execute(
            sql: """
                DELETE FROM discarded WHERE inode IN (SELECT inode FROM unsynced WHERE state < 2)
                """)
    }
}
