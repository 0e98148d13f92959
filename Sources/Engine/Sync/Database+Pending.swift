import Foundation
import GRDB

/// Why an inode has not been brought to the remote, for people.
package struct SyncFailure: Hashable, Sendable {
    package var what: String
    package var why: String
    package var remedy: String?
    /// Whether it goes on failing until somebody changes something; else it is tried again soon.
    package var isFinal: Bool
}

/// An inode whose states may differ.
struct PendingRecord {
    var inode: InodeNumber
    var since: Timestamp
    var attempts: Int
    var failure: SyncFailure?
}

// Rows of `pending`.

extension Database {
    /// Notes that an inode's states may differ. One that failed before is tried afresh.
    func markPending(_ inode: InodeNumber, at now: Timestamp) throws {
        try cachedStatement(
            sql: """
                INSERT INTO pending (inode, since, attempts) VALUES (?, ?, 0)
                ON CONFLICT (inode) DO NOTHING
                """
        ).execute(arguments: [inode.rawValue, now.nanoseconds])
    }

    func removePending(_ inode: InodeNumber) throws {
        try cachedStatement(sql: "DELETE FROM pending WHERE inode = ?")
            .execute(arguments: [inode.rawValue])
    }

    func isPending(_ inode: InodeNumber) throws -> Bool {
        let statement = try cachedStatement(
            sql: "SELECT EXISTS (SELECT 1 FROM pending WHERE inode = ?)")
        return try Bool.fetchOne(statement, arguments: [inode.rawValue]) ?? false
    }

    func setFailure(_ failure: SyncFailure?, attempts: Int, of inode: InodeNumber) throws {
        try cachedStatement(
            sql: """
                UPDATE pending SET attempts = ?, what = ?, why = ?, remedy = ?, final = ? WHERE inode = ?
                """
        ).execute(arguments: [
            attempts, failure?.what, failure?.why, failure?.remedy, failure?.isFinal,
            inode.rawValue,
        ])
    }

    func pending(_ inode: InodeNumber) throws -> PendingRecord? {
        let statement = try cachedStatement(
            sql:
                "SELECT inode, since, attempts, what, why, remedy, final FROM pending WHERE inode = ?"
        )
        return try Row.fetchOne(statement, arguments: [inode.rawValue]).map(PendingRecord.init)
    }

    /// The next pending inodes after one, ascending.
    func pendingInodes(after inode: InodeNumber, limit: Int) throws -> [InodeNumber] {
        let statement = try cachedStatement(
            sql: "SELECT inode FROM pending WHERE inode > ? ORDER BY inode LIMIT ?")
        return try Int64.fetchAll(statement, arguments: [inode.rawValue, limit])
            .map { InodeNumber(rawValue: $0) }
    }

    func pendingCount() throws -> Int {
        try Int.fetchOne(cachedStatement(sql: "SELECT count(*) FROM pending")) ?? 0
    }

    /// What is pending at or below an inode, by the local path, or by the remote one for what has
    /// no local name any more.
    func pending(below ancestor: InodeNumber, limit: Int) throws -> [PendingRecord] {
        let all = "SELECT inode, since, attempts, what, why, remedy, final FROM pending"
        if ancestor == .root {
            let statement = try cachedStatement(sql: all + " ORDER BY since, inode LIMIT ?")
            return try Row.fetchAll(statement, arguments: [limit]).map(PendingRecord.init)
        }
        let statement = try cachedStatement(
            sql: """
                WITH RECURSIVE above (start, node) AS (
                    SELECT inode, inode FROM pending
                    UNION
                    SELECT start, coalesce(
                        (SELECT parent FROM dirents WHERE inode = node),
                        (SELECT parent FROM synced WHERE inode = node))
                    FROM above WHERE node IS NOT NULL AND node NOT IN (1, :ancestor)
                )
                \(all) WHERE inode IN (SELECT start FROM above WHERE node = :ancestor)
                ORDER BY since, inode LIMIT :limit
                """)
        return try Row.fetchAll(
            statement, arguments: ["ancestor": ancestor.rawValue, "limit": limit]
        ).map(PendingRecord.init)
    }
}

extension PendingRecord {
    fileprivate init(_ row: Row) {
        inode = InodeNumber(rawValue: row[0])
        since = Timestamp(nanoseconds: row[1])
        attempts = row[2]
        if let what = row[3] as String? {
            failure = SyncFailure(
                what: what, why: row[4] ?? "", remedy: row[5], isFinal: row[6] ?? true)
        }
    }
}
