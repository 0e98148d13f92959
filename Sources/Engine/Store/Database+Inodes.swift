import Foundation
import GRDB

/// A file whose content takes space on the disk.
struct LocalFile {
    var inode: InodeNumber
    /// The space, as last measured.
    var bytes: UInt64
    var parent: InodeNumber
}

/// A file in the order of eviction: the least recently used first, of those of the same time the largest.
struct EvictionPlace {
    var accessed: Int64
    var size: Int64
    var inode: InodeNumber
    /// The space that its content takes, as last measured.
    var bytes: UInt64 = 0

    /// Before all files.
    static let start = EvictionPlace(
        accessed: .min, size: .max, inode: InodeNumber(rawValue: .max))
}

// Rows of `inodes`. All statements are prepared once per connection.

extension Database {
    func inode(_ number: InodeNumber) throws -> InodeRecord? {
        try row("SELECT \(InodeRecord.columns) FROM inodes WHERE id = ?", [number]) {
            InodeRecord($0)
        }
    }

    /// - Throws: `.changedRemotely` if it does not exist any more: a caller that knows the number
    ///   looks its name up again.
    func existingInode(_ number: InodeNumber) throws -> InodeRecord {
        guard let inode = try inode(number) else {
            throw Blocked.failure(.changedRemotely, "find inode \(number)")
        }
        return inode
    }

    /// Returns a directory that still has its name.
    ///
    /// - Throws: `.notFound` for a removed one, `.notDirectory`.
    func existingDirectory(_ number: InodeNumber) throws -> InodeRecord {
        let inode = try existingInode(number)
        guard inode.kind == .directory else {
            throw Blocked.failure(.notDirectory, "use inode \(number) as a directory")
        }
        guard inode.links > 0 else {
            throw Blocked.failure(.notFound, "use the removed directory \(number)")
        }
        return inode
    }

    /// Returns a directory whose names are all known.
    func listedDirectory(_ number: InodeNumber) throws -> InodeRecord {
        let inode = try existingDirectory(number)
        guard inode.isListed else { throw Blocked.awaits(.listing(number)) }
        return inode
    }

    /// Stores a new inode and sets its number.
    ///
    /// - Parameter number: One that ``passInodeNumbers(upTo:)`` has set aside; nil for the next one.
    func insert(_ inode: inout InodeRecord, as number: InodeNumber? = nil) throws {
        try run(
            """
            INSERT INTO inodes (id, kind, mode, uid, gid, links, size, modified, changed, target,
                presence, generation, writing, listed, accessed, has_metadata, made_here)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [
                number, inode.kind, inode.mode, inode.userID, inode.groupID, inode.links,
                inode.size.stored, inode.modified, inode.changed,
                inode.target.map { Data($0) }, inode.presence, inode.generation,
                inode.isWriting, inode.isListed, inode.accessed.wholeMinute, inode.hasMetadata,
                inode.isMadeHere,
            ])
        inode.id = InodeNumber(rawValue: lastInsertedRowID)
    }

    /// Returns the highest number that an inode has or had.
    func lastInodeNumber() throws -> Int64 {
        try value("SELECT max(seq) FROM sqlite_sequence WHERE name = 'inodes'") ?? 0
    }

    /// Makes all new inodes have higher numbers than `last`.
    func passInodeNumbers(upTo last: Int64) throws {
        // There is a row, as the root was inserted.
        try run("UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = 'inodes'", [last])
    }

    /// Stores a record except for its constant parts: number, kind and origin.
    ///
    /// - Parameter former: The stored record, if it is known. SQLite writes an index again if a
    ///   statement assigns its columns, even the same values, and runs their triggers.
    func update(_ inode: InodeRecord, from former: InodeRecord? = nil) throws {
        var assignments = """
            mode = ?, uid = ?, gid = ?, modified = ?, changed = ?, generation = ?, listed = ?,
            has_metadata = ?
            """
        var values: [(any DatabaseValueConvertible)?] = [
            inode.mode, inode.userID, inode.groupID, inode.modified, inode.changed,
            inode.generation, inode.isListed, inode.hasMetadata,
        ]
        if former?.links != inode.links {
            assignments += ", links = ?"
            values.append(inode.links)
        }
        if former?.size != inode.size {
            assignments += ", size = ?"
            values.append(inode.size.stored)
        }
        if former?.presence != inode.presence {
            assignments += ", presence = ?"
            values.append(inode.presence)
        }
        if former?.isWriting != inode.isWriting {
            assignments += ", writing = ?"
            values.append(inode.isWriting)
        }
        if former == nil || former?.target != inode.target {
            assignments += ", target = ?"
            values.append(inode.target.map { Data($0) })
        }
        values.append(inode.id)
        try run("UPDATE inodes SET \(assignments) WHERE id = ?", Arguments(values))
    }

    /// Records the last use of content, for eviction, to the minute.
    func touch(_ number: InodeNumber, at now: Timestamp) throws {
        try run("UPDATE inodes SET accessed = ? WHERE id = ?", [now.wholeMinute, number])
    }

    /// Records that the file may be open for writing (I1).
    func markWriting(_ number: InodeNumber) throws {
        try run("UPDATE inodes SET writing = 1 WHERE id = ?", [number])
    }

    /// Records that some bytes of a file are local, and its size.
    func setPartial(_ number: InodeNumber, size: UInt64) throws {
        try run(
            "UPDATE inodes SET presence = ?, size = ? WHERE id = ?",
            [Presence.partial, size.stored, number])
    }

    /// Records a change of attributes or name. POSIX: `st_ctim`.
    func touchChanged(_ number: InodeNumber, at now: Timestamp) throws {
        try run("UPDATE inodes SET changed = ? WHERE id = ?", [now, number])
    }

    /// Removes an inode that has no name on either side, with its rows in other tables.
    func deleteInode(_ number: InodeNumber) throws {
        try run("DELETE FROM inodes WHERE id = ?", [number])
    }

    func inodes(where condition: String, limit: Int) throws -> [InodeNumber] {
        try values("SELECT id FROM inodes WHERE \(condition) LIMIT ?", [limit])
    }

    // MARK: Extents

    func extents(of number: InodeNumber) throws -> ExtentSet {
        let rows = try rows(
            "SELECT start, stop FROM extents WHERE inode = ? ORDER BY start", [number])
        return ExtentSet(rows.map { UInt64(stored: $0[0])..<UInt64(stored: $0[1]) })
    }

    /// Replaces the stored set of a file's local bytes.
    func setExtents(_ extents: ExtentSet, of number: InodeNumber) throws {
        try run("DELETE FROM extents WHERE inode = ?", [number])
        for range in extents.ranges { try storeExtent(range, of: number) }
    }

    /// Adds a range to a file's local bytes, merging adjacent ranges.
    func insertExtent(_ range: Range<UInt64>, of number: InodeNumber) throws {
        let touching = "FROM extents WHERE inode = ? AND start <= ? AND stop >= ?"
        let bounds: Arguments = [
            number, range.upperBound.stored, range.lowerBound.stored,
        ]
        let row = try row("SELECT min(start), max(stop) \(touching)", bounds)
        let start = (row?[0] as Int64?).map { UInt64(stored: $0) } ?? range.lowerBound
        let stop = (row?[1] as Int64?).map { UInt64(stored: $0) } ?? range.upperBound
        try run("DELETE \(touching)", bounds)
        let merged = min(range.lowerBound, start)..<max(range.upperBound, stop)
        try storeExtent(merged, of: number)
    }

    private func storeExtent(_ range: Range<UInt64>, of number: InodeNumber) throws {
        try run(
            "INSERT INTO extents VALUES (?, ?, ?)",
            [number, range.lowerBound.stored, range.upperBound.stored])
    }

    /// Returns the size that a file's content must have at least.
    func leastContentSize(_ record: InodeRecord) throws -> UInt64 {
        switch record.presence {
        case .remote: 0
        case .partial: try extents(of: record.id).end(below: record.size)
        case .whole: record.size
        }
    }

    // MARK: Extended attributes, which are read only when asked for

    func extendedAttributes(of inode: InodeNumber) throws -> ExtendedAttributes {
        try value("SELECT attributes FROM xattrs WHERE inode = ?", [inode]) ?? ExtendedAttributes()
    }

    func setExtendedAttributes(
        _ attributes: ExtendedAttributes, of inode: InodeNumber
    ) throws {
        if attributes.isEmpty {
            try run("DELETE FROM xattrs WHERE inode = ?", [inode])
        } else {
            try run("INSERT OR REPLACE INTO xattrs VALUES (?, ?)", [inode, attributes])
        }
    }

    /// Merges remote attributes into the local ones: local changes since `base` are kept.
    ///
    /// - Parameter remote: nil if the remote does not report them.
    /// - Returns: The attributes that both sides agree on from now on.
    func adopt(
        _ remote: ExtendedAttributes?, of inode: InodeNumber, since base: ExtendedAttributes
    ) throws -> ExtendedAttributes {
        guard let remote, remote != base else { return base }
        let ours = try extendedAttributes(of: inode)
        try setExtendedAttributes(ours.rebased(from: base, onto: remote), of: inode)
        return remote
    }

    // MARK: Eviction

    /// Returns the space that all content files take on the disk, as last measured.
    func presentBytes() throws -> UInt64 { try totals().localBytes }

    /// Returns the space that a file's content takes on the disk, as last measured.
    func localBytes(of number: InodeNumber) throws -> UInt64 {
        let bytes: Int64? = try value("SELECT bytes FROM local_bytes WHERE inode = ?", [number])
        return UInt64(stored: bytes ?? 0)
    }

    /// Returns inodes whose content takes space, ascending.
    func withLocalBytes(after last: InodeNumber, limit: Int) throws -> [InodeNumber] {
        try values(
            "SELECT inode FROM local_bytes WHERE inode > ? ORDER BY inode LIMIT ?", [last, limit])
    }

    /// Returns files that have a name and whose content takes space, ascending.
    func filesWithLocalBytes(after last: InodeNumber, limit: Int) throws -> [LocalFile] {
        try rows(
            """
            SELECT local_bytes.inode, bytes, parent
            FROM local_bytes CROSS JOIN dirents ON dirents.inode = local_bytes.inode
            WHERE local_bytes.inode > ? ORDER BY local_bytes.inode LIMIT ?
            """, [last, limit]
        ) { LocalFile(inode: $0[0], bytes: UInt64(stored: $0[1]), parent: $0[2]) }
    }

    /// Records the space that a file's content takes on the disk.
    func setLocalBytes(_ bytes: UInt64, of number: InodeNumber) throws {
        try run(
            """
            INSERT INTO local_bytes VALUES (?, ?)
            ON CONFLICT (inode) DO UPDATE SET bytes = excluded.bytes WHERE bytes <> excluded.bytes
            """, [number, bytes.stored])
    }

    /// Whether a file's local bytes could be fetched again: the remote has all of them under its
    /// name, and no change is pending or possible (I2).
    func isEvictable(_ record: InodeRecord) throws -> Bool {
        try hasRow("inodes WHERE id = ? AND \(Self.isEvictable)", [record.id])
    }

    /// As ``isEvictable(_:)``, of a row of `inodes`.
    static let isEvictable = """
        writing = 0 AND NOT EXISTS (SELECT 1 FROM pending WHERE inode = inodes.id)
            AND EXISTS (
                SELECT 1 FROM synced WHERE inode = inodes.id AND etag NOT NULL
                    AND synced.generation = inodes.generation)
        """

    /// Forgets the local bytes of a file.
    ///
    /// - Returns: Whether it had any.
    func forgetContent(of number: InodeNumber) throws -> Bool {
        try run("UPDATE inodes SET presence = 0 WHERE id = ? AND presence > 0", [number])
        guard changesCount > 0 else { return false }
        try run("DELETE FROM extents WHERE inode = ?", [number])
        try forgetDurability(of: number)
        return true
    }

    /// Returns those of some files that have local bytes and meet a condition.
    ///
    /// - Parameter condition: Of a row of `inodes`.
    /// - Returns: Those files, ascending, and the space that they take, as last measured.
    func contentBytes(
        of numbers: [InodeNumber], if condition: String
    ) throws -> [(inode: InodeNumber, bytes: UInt64)] {
        // A statement for each file would take several times as long.
        try rows(
            """
            SELECT id, (SELECT bytes FROM local_bytes WHERE inode = inodes.id) FROM inodes
            WHERE id IN (SELECT value FROM json_each(?)) AND presence > 0 AND \(condition)
            ORDER BY id
            """, [Self.list(numbers)]
        ) { (inode: $0[0] as InodeNumber, bytes: UInt64(stored: $0[1] ?? 0)) }
    }

    /// Forgets the local bytes of those of some files that meet a condition. Bytes that the database does
    /// not record are fetched again.
    ///
    /// - Parameter condition: Of a row of `inodes`.
    /// - Returns: Those files, ascending, and the space that they took, as last measured.
    func forgetContent(
        of numbers: [InodeNumber], if condition: String
    ) throws -> [(inode: InodeNumber, bytes: UInt64)] {
        let found = try contentBytes(of: numbers, if: condition)
        if found.isEmpty { return [] }
        let list = Self.list(found.map(\.inode))
        let isListed = "IN (SELECT value FROM json_each(?))"
        try run("UPDATE inodes SET presence = 0 WHERE id \(isListed)", [list])
        try run("DELETE FROM extents WHERE inode \(isListed)", [list])
        try run("DELETE FROM unsynced WHERE inode \(isListed)", [list])
        return found
    }

    /// Returns files with local bytes that the remote has too, in the order of eviction.
    func leastRecentlyUsed(after last: EvictionPlace, limit: Int) throws -> [EvictionPlace] {
        var places: [EvictionPlace] = []
        // For a comparison of triples SQLite would read all files of the same time.
        for next in [
            "accessed = ?1 AND size = ?2 AND id > ?3",
            "accessed = ?1 AND size < ?2 AND ?3 NOT NULL",
            "accessed > ?1 AND ?2 NOT NULL AND ?3 NOT NULL",
        ] where places.count < limit {
            places += try rows(
                """
                SELECT accessed, size, id, bytes FROM inodes LEFT JOIN local_bytes ON inode = id
                WHERE presence > 0 AND size > 0 AND writing = 0 AND \(next)
                    AND id NOT IN (SELECT inode FROM pending)
                    AND id NOT IN (SELECT inode FROM excluded)
                ORDER BY accessed, size DESC, id LIMIT ?4
                """, [last.accessed, last.size, last.inode, limit - places.count]
            ) {
                EvictionPlace(
                    accessed: $0[0], size: $0[1], inode: $0[2],
                    bytes: UInt64(stored: $0[3] ?? 0))
            }
        }
        return places
    }
}
