import Foundation
import GRDB

/// A set of names of any size: in memory, or beyond ``inMemoryMax`` in a temporary table on the disk.
final class NameSet {
    static let inMemoryMax = 16_384

    private var names: Set<FileName> = []
    /// A database of its own, which SQLite removes when it is closed: neither the names nor the wait
    /// for the disk concern the mount's.
    private var table: DatabaseQueue?

    /// - Returns: The number of names that were not in the set.
    func insert(_ more: some Sequence<FileName>) throws -> Int {
        guard let table else {
            let before = names.count
            names.formUnion(more)
            let new = names.count - before
            if names.count > Self.inMemoryMax { try spill() }
            return new
        }
        return try table.inDatabase { try $0.insertNames(more) }
    }

    /// Returns those of some names that are not in the set.
    ///
    /// - Parameter candidates: In ascending order.
    func missing(among candidates: [FileName]) throws -> [FileName] {
        guard let table else { return candidates.filter { !names.contains($0) } }
        guard let first = candidates.first, let last = candidates.last else { return [] }
        return try table.inDatabase { database in
            let known = try FileName.fetchCursor(
                database.cachedStatement(
                    sql: "SELECT name FROM names WHERE name BETWEEN ? AND ? ORDER BY name"),
                arguments: [first, last])
            var next = try known.next()
            return try candidates.filter { candidate in
                while let name = next, name.bytes.lexicographicallyPrecedes(candidate.bytes) {
                    next = try known.next()
                }
                return next != candidate
            }
        }
    }

    private func spill() throws {
        // The empty path means a temporary file, which exists only once it exceeds the page cache.
        let table = try DatabaseQueue(path: "")
        try table.inDatabase { database in
            try database.execute(
                sql: """
                    PRAGMA journal_mode = OFF;
                    PRAGMA synchronous = OFF;
                    CREATE TABLE names (name BLOB PRIMARY KEY) WITHOUT ROWID;
                    """)
            _ = try database.insertNames(names)
        }
        self.table = table
        names = []
    }
}

extension Database {
    fileprivate func insertNames(_ names: some Sequence<FileName>) throws -> Int {
        let before = totalChangesCount
        try execute(sql: "BEGIN")
        try run(
            """
            INSERT OR IGNORE INTO names
            SELECT \(PackedNames.name) FROM json_each(:places) AS page
            """, PackedNames(names).arguments())
        try execute(sql: "COMMIT")
        return totalChangesCount - before
    }
}
