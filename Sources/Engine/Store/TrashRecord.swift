import Foundation
import GRDB

/// One row of `trash`: a file without a name whose bytes are in the trash, or about to be moved there.
struct TrashRecord: Hashable {
    /// Its place in the order of the deletions; 0 for a record that is not stored yet.
    var position: Int64 = 0
    /// The number that the file had.
    var inode: InodeNumber
    /// Its path at the time of the deletion.
    var path: ObjectKey
    /// The time at which it lost its name.
    var time: Timestamp
    var size: UInt64
    var mode: UInt16
    var owner: Caller
    var modified: Timestamp
    var extendedAttributes: ExtendedAttributes
    /// During a restore, the number of the inode that gets the bytes.
    var restored: InodeNumber?

    static let columns = """
        position, trash.inode, path, time, size, mode, uid, gid, modified, xattrs, restored
        """
}

extension TrashRecord {
    init(
        of record: InodeRecord, at path: ObjectKey, time: Timestamp,
        extendedAttributes: ExtendedAttributes
    ) {
        self.init(
            inode: record.id, path: path, time: time, size: record.size, mode: record.mode,
            owner: Caller(userID: record.userID, groupID: record.groupID),
            modified: record.modified, extendedAttributes: extendedAttributes)
    }

    fileprivate init(_ row: StatementRow) {
        self.init(
            position: row[0], inode: row[1], path: row[2], time: row[3],
            size: UInt64(stored: row[4]), mode: row[5],
            owner: Caller(userID: row[6], groupID: row[7]), modified: row[8],
            extendedAttributes: row[9], restored: row[10])
    }
}

/// The deletions at and below a path that belong together: no more than a minute lies between one and
/// the next.
struct TrashBurst: Hashable {
    var path: ObjectKey
    /// The time of the first one.
    var start: Timestamp
    /// The ``TrashRecord/position`` of the last one.
    var last: Int64

    /// The time between two deletions of one burst, as of ``DeletionGuard``, in nanoseconds.
    fileprivate static var pauseMax: Int64 { 60_000_000_000 }
}

extension Database {
    func insertTrash(_ record: TrashRecord) throws {
        try run(
            """
            INSERT OR REPLACE INTO trash
                (inode, path, time, size, mode, uid, gid, modified, xattrs)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                record.inode, record.path, record.time, record.size.stored, record.mode,
                record.owner.userID, record.owner.groupID, record.modified,
                record.extendedAttributes,
            ])
    }

    /// Returns the rows at and below a path, in the order of their deletion.
    func trash(
        below path: ObjectKey, after position: Int64, limit: Int
    ) throws -> [TrashRecord] {
        try rows(
            """
            SELECT \(TrashRecord.columns) FROM trash
            WHERE position > :after AND \(Self.isBelowPath) ORDER BY position LIMIT :limit
            """, Self.arguments(path, ["after": position, "limit": limit])
        ) { TrashRecord($0) }
    }

    func trash(at positions: [Int64]) throws -> [TrashRecord] {
        try positions.compactMap { position in
            try row("SELECT \(TrashRecord.columns) FROM trash WHERE position = ?", [position]) {
                TrashRecord($0)
            }
        }
    }

    /// Returns the rows whose restore was interrupted, or is under way.
    func trashBeingRestored() throws -> [TrashRecord] {
        try rows("SELECT \(TrashRecord.columns) FROM trash WHERE restored NOT NULL") {
            TrashRecord($0)
        }
    }

    /// Returns those inodes that have no row.
    func missingInTrash(among inodes: [InodeNumber]) throws -> [InodeNumber] {
        try values(
            """
            SELECT value FROM json_each(?) WHERE value NOT IN (SELECT inode FROM trash)
            """, [Self.list(inodes)])
    }

    func setRestored(_ inode: InodeNumber?, at position: Int64) throws {
        try run("UPDATE trash SET restored = ? WHERE position = ?", [inode, position])
    }

    /// - Returns: Whether there was such a row whose bytes are not being restored.
    @discardableResult
    func removeUnrestoredTrash(of inode: InodeNumber) throws -> Bool {
        try run("DELETE FROM trash WHERE inode = ? AND restored IS NULL", [inode])
        return changesCount > 0
    }

    func removeTrash(at position: Int64) throws {
        try run("DELETE FROM trash WHERE position = ?", [position])
    }

    // MARK: Bursts

    /// Returns the latest deletions at and below a path that belong together; nil if there are none.
    ///
    /// - Parameter isAll: Whether all of them belong together.
    func trashBurst(below path: ObjectKey, isAll: Bool) throws -> TrashBurst? {
        let last: Int64? = try value(
            "SELECT max(position) FROM trash WHERE \(Self.isBelowPath)", Self.arguments(path))
        guard let last else { return nil }
        if isAll { return TrashBurst(path: path, start: Timestamp(nanoseconds: .min), last: last) }
        let times = try Timestamp.fetchCursor(
            cachedStatement(
                sql: "SELECT time FROM trash WHERE \(Self.isBelowPath) ORDER BY time DESC"),
            arguments: StatementArguments(Self.arguments(path)))
        return try withExtendedLifetime(times) {
            var start: Timestamp?
            while let time = try times.next() {
                if let start, start.nanoseconds - time.nanoseconds > TrashBurst.pauseMax { break }
                start = time
            }
            return start.map { TrashBurst(path: path, start: $0, last: last) }
        }
    }

    /// Returns the rows of a burst, in the order of their deletion; of several with one path the last.
    func trash(
        in burst: TrashBurst, after position: Int64, limit: Int
    ) throws -> [TrashRecord] {
        try rows(
            """
            SELECT \(TrashRecord.columns) FROM trash
            WHERE position > :after AND position <= :last AND time >= :start
            AND \(Self.isBelowPath) AND NOT EXISTS (
                SELECT 1 FROM trash AS later WHERE later.path = trash.path
                AND later.position > trash.position AND later.position <= :last)
            ORDER BY position LIMIT :limit
            """,
            Self.arguments(
                burst.path,
                ["after": position, "last": burst.last, "start": burst.start, "limit": limit])
        ) { TrashRecord($0) }
    }

    /// The paths below one are those between it with `/` and it with `0`, the next byte, at its end.
    private static let isBelowPath =
        "(path = :path OR path > :lower AND path < :upper OR :path = x'')"

    private static func arguments(
        _ path: ObjectKey, _ others: Arguments = [:]
    ) -> Arguments {
        let bytes = path.stored
        return others + [
            "path": bytes, "lower": bytes + [UInt8(ascii: "/")],
            "upper": bytes + [UInt8(ascii: "0")],
        ]
    }
}
