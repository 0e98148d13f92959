import Foundation
import GRDB

/// One row of `discarded`: a file that the remote has deleted, on its way to the trash.
struct DiscardedRecord {
    var name: FileName
    /// When it was seen to be deleted.
    var time: Timestamp
}
extension Database {
    func setDiscarded(_ discarded: DiscardedRecord, of inode: InodeNumber) throws {
        try cachedStatement(sql: "INSERT OR REPLACE INTO discarded VALUES (?, ?, ?)").execute(
            arguments: [inode.rawValue, discarded.name.data, discarded.time.nanoseconds])
    }

    func discarded(_ inode: InodeNumber) throws -> DiscardedRecord? {
        let statement = try cachedStatement(
            sql: "SELECT name, time FROM discarded WHERE inode = ?")
        return try Row.fetchOne(statement, arguments: [inode.rawValue]).map { row in
            DiscardedRecord(
                name: FileName(stored: [UInt8](row[0] as Data)),
                time: Timestamp(nanoseconds: row[1]))
        }
    }

    func discardedInodes() throws -> [InodeNumber] {
        try Int64.fetchAll(cachedStatement(sql: "SELECT inode FROM discarded ORDER BY inode"))
            .map { InodeNumber(rawValue: $0) }
    }

    /// What may be torn after a power cut is no copy of anything.
    func forgetUnsafeDiscarded() throws {
        try execute(
            sql: """
                DELETE FROM discarded WHERE inode IN (SELECT inode FROM unsynced WHERE state < 2)
                """)
    }
}
