import Foundation
import GRDB

// Inodes that have stepped aside on the remote, to a temporary name.

extension Database {
    /// Whether a file that nobody is writing has contents which the remote was never known to have.
    func isChangedHere(_ record: InodeRecord) throws -> Bool {
        guard let synced = try synced(record.id), synced.etag != nil else { return true }
        return synced.generation != record.generation
    }

    /// Whether an inode has stepped aside on the remote: what other mounts left there does not count.
    func isAside(_ inode: InodeNumber, at synced: SyncedRecord) throws -> Bool {
        try synced.parent == .root && synced.name == .aside(inode, salt: salt())
    }

    /// Notes the path that an inode has here before it steps aside on the remote.
    func noteFormerPath(of inode: InodeNumber) throws {
        let path = try path(of: inode).map(\.bytes).joined(separator: [UInt8(ascii: "/")])
        try cachedStatement(sql: "UPDATE synced SET former = ? WHERE inode = ?")
            .execute(arguments: [Data(path), inode.rawValue])
    }

    /// The path that an inode had here before it stepped aside; nil where it stands in its place.
    func formerPath(of inode: InodeNumber, at synced: SyncedRecord) throws -> [FileName]? {
        guard try isAside(inode, at: synced) else { return nil }
        let statement = try cachedStatement(sql: "SELECT former FROM synced WHERE inode = ?")
        return try Data.fetchOne(statement, arguments: [inode.rawValue])?
            .split(separator: UInt8(ascii: "/")).map { FileName(stored: Array($0)) }
    }
}
