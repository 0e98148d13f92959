import Foundation
import GRDB

// Rows of `conflicts`: inodes that lost their name to the remote's version.

extension Database {
    func noteConflict(_ inode: InodeNumber, original: FileName, at now: Timestamp) throws {
        try cachedStatement(
            sql: "INSERT INTO conflicts VALUES (?, ?, ?) ON CONFLICT (inode) DO NOTHING"
        ).execute(arguments: [inode.rawValue, original.data, now.nanoseconds])
    }

    /// Somebody has seen to it.
    func removeConflict(_ inode: InodeNumber) throws {
        try cachedStatement(sql: "DELETE FROM conflicts WHERE inode = ?")
            .execute(arguments: [inode.rawValue])
    }

    /// Conflicts at or below a directory, the oldest first.
    func conflicts(
        below ancestor: InodeNumber, limit: Int
    ) throws -> [(inode: InodeNumber, since: Timestamp)] {
        let statement = try cachedStatement(
            sql: """
                SELECT inode, since FROM conflicts JOIN inodes ON inodes.id = inode
                WHERE links > 0 ORDER BY since, inode LIMIT ?
                """)
        return try Row.fetchAll(statement, arguments: [limit])
            .map { (InodeNumber(rawValue: $0[0]), Timestamp(nanoseconds: $0[1])) }
            .filter { try isInode($0.0, atOrBelow: ancestor) }
    }
}
