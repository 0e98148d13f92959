import Foundation
import GRDB

/// The known state of a name on the remote, with which a listing is compared.
struct KnownObject {
    var record: InodeRecord
    var synced: SyncedRecord
    /// See ``RemoteObject/remoteModified``.
    var remoteModified: Timestamp?
}

extension Database {
    /// Returns the known states of names in a directory on the remote, with a single query.
    ///
    /// - Returns: One element for each name; nil if the name is unknown, or if its inode has a row
    ///   in `remote`.
    func knownObjects(_ names: [FileName], in parent: InodeNumber) throws -> [KnownObject?] {
        // JSON cannot hold arbitrary bytes. The names are passed as one blob, beside a list of
        // numbers: the offset of a name, and in the lowest byte its length.
        var bytes = Data()
        var places: [String] = []
        for name in names {
            places.append("\((bytes.count + 1) << 8 | name.bytes.count)")
            bytes += name.bytes
        }
        let statement = try cachedStatement(
            sql: """
                SELECT page.key, remote_modified, \(SyncedRecord.columns), \(InodeRecord.columns)
                FROM json_each(?) AS page
                CROSS JOIN synced ON synced.parent = ?
                    AND synced.name = substr(?, page.value >> 8, page.value & 255)
                CROSS JOIN inodes ON inodes.id = synced.inode
                WHERE NOT EXISTS (SELECT 1 FROM remote WHERE remote.inode = synced.inode)
                """)
        let rows = try Row.fetchCursor(
            statement, arguments: ["[\(places.joined(separator: ","))]", parent, bytes])
        var known = [KnownObject?](repeating: nil, count: names.count)
        while let row = try rows.next() {
            known[row[0]] = KnownObject(
                record: InodeRecord(row, from: 10), synced: SyncedRecord(row, from: 2),
                remoteModified: row[1])
        }
        return known
    }
}
