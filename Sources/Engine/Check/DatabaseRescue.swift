import GRDB

/// Copies the readable rows of a damaged database into a new one.
package enum DatabaseRescue {
    /// The saved rows of one table.
    package struct Table: Hashable, Sendable {
        package var name: String
        package var rows: Int
        /// Whether all of it could be read.
        package var isWhole: Bool
    }

    /// Saves into a new database file.
    ///
    /// - Parameter newPath: A path without a file.
    /// - Returns: All tables, including those without saved rows.
    package static func rescue(
        _ path: String, into newPath: String
    ) throws(EngineError) -> [Table] {
        try onDatabase("save the readable rows of \"\(path)\"") {
            let (target, tables) = try copyRows(of: path, into: newPath)
            try target.close()
            return tables
        }
    }

    /// Saves into a temporary store, for a dry run.
    package static func rehearse(_ path: String) throws(EngineError) -> (Store, [Table]) {
        try onDatabase("read the rows that can be saved of \"\(path)\"") {
            let (target, tables) = try copyRows(of: path, into: "")
            return (try Store(target), tables)
        }
    }

    private static func copyRows(
        of path: String, into newPath: String
    ) throws -> (DatabaseQueue, [Table]) {
        let source = try? StateDatabase.reader(path, isDamaged: true)
        let isUnreleased = try? source?.read { try Schema.isUnreleased($0) }
        if isUnreleased == true, let refusal = StateDatabase.refusal(.older, path) { throw refusal }
        let target = try DatabaseQueue(path: newPath)
        try Schema.migrator.migrate(target)
        // The check repairs rows without an inode, and invalid values.
        try target.writeWithoutTransaction { database in
            try database.execute(
                sql: "PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON")
        }
        let tables = try copyRows(of: source, into: target)
        // An older version or a lost page has none.
        try target.write { try $0.execute(sql: Schema.estimatedLocalBytes) }
        try target.writeWithoutTransaction { database in
            try database.execute(
                sql: "PRAGMA foreign_keys = ON; PRAGMA ignore_check_constraints = OFF")
        }
        return (target, tables)
    }

    private static func copyRows(
        of source: DatabaseQueue?, into target: DatabaseQueue
    ) throws -> [Table] {
        try target.write { target in
            // Triggers count the totals of the copied rows; the index of names is made at the next mount;
            // a history would have gaps.
            let names: [String] = try target.values(
                """
                SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT IN ('totals', 'folded_names', 'history', 'history_state')
                    AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'grdb_%' ORDER BY name
                """)
            guard let source else { return names.map { Table(name: $0, rows: 0, isWhole: false) } }
            // Not in a transaction, which the first failure would end.
            return try source.unsafeRead { source in
                try copyNumbers(from: source, to: target)
                return try names.map { name in
                    var copy = TableCopy(name, source, target)
                    let isWhole = try copy.perform()
                    let rows = try target.value("SELECT count(*) FROM \(name)") ?? 0
                    return Table(name: name, rows: rows, isWhole: isWhole)
                }
            }
        }
    }
}

extension DatabaseRescue {
    /// Numbers of removed inodes and names are not given again: an object on the remote may have the
    /// nonce of a former upload, or a temporary name.
    private static func copyNumbers(from source: Database, to target: Database) throws {
        let numbers = """
            SELECT name, CAST(seq AS INTEGER) FROM sqlite_sequence
            WHERE name IN ('inodes', 'dirents')
            """
        for row in (try? Row.fetchAll(source, sql: numbers)) ?? [] {
            // Copied rows with higher numbers raise them.
            let (name, last): (String, Int64) = (row[0], max(0, min(row[1] ?? 0, 1 << 62)))
            try target.run("DELETE FROM sqlite_sequence WHERE name = ?", [name])
            try target.run("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", [name, last])
        }
    }
}

/// Copies the rows of one table from one database to another.
private struct TableCopy {
    /// The number of failed reads after which the rest is abandoned.
    private static let failuresMax = 2_000

    private let name: String
    private let source: Database
    private let target: Database
    private var columns = ""
    private var insertion = ""
    private var failures = 0

    init(_ name: String, _ source: Database, _ target: Database) {
        (self.name, self.source, self.target) = (name, source, target)
    }

    /// - Returns: Whether all rows could be read.
    mutating func perform() throws -> Bool {
        let known = try target.columns(in: name).map(\.name)
        guard let there = try? source.columns(in: name).map(\.name) else { return false }
        let shared = known.filter { there.contains($0) }
        guard !shared.isEmpty else { return false }
        columns = shared.joined(separator: ", ")
        let marks = shared.map { _ in "?" }.joined(separator: ", ")
        insertion = "INSERT OR IGNORE INTO \(name) (\(columns)) VALUES (\(marks))"
        guard try target.primaryKey(name).rowIDColumn != nil else { return try copyByKey() }
        return try copy(from: .min, to: .max, depth: 0)
    }

    /// Copies the rows with ids between two. If reading upwards fails, it continues downwards from
    /// the top, then in each half of the remaining range.
    private mutating func copy(from low: Int64, to high: Int64, depth: Int) throws -> Bool {
        var (low, high) = (low, high)
        for isUpwards in [true, false] {
            let order = isUpwards ? "rowid" : "rowid DESC"
            while let end = try page("rowid > \(low) AND rowid < \(high)", order) {
                guard let last = end else {
                    if isUpwards { return true }
                    break
                }
                guard isUpwards ? last > low : last < high else {
                    // Damaged pages may form a circle.
                    failures += 1
                    break
                }
                if isUpwards { low = last } else { high = last }
            }
        }
        guard depth < 64, failures < Self.failuresMax, low < high - 1 else { return false }
        let middle = low / 2 + high / 2
        guard middle > low, middle < high else { return false }
        _ = try copy(from: low, to: middle, depth: depth + 1)
        _ = try copy(from: middle - 1, to: high, depth: depth + 1)
        return false
    }

    /// Copies some rows.
    ///
    /// - Returns: The id of the last row, `nil` in it if there are no more rows; `nil` if nothing can
    ///   be read.
    private mutating func page(_ condition: String, _ order: String) throws -> Int64?? {
        for limit in [200, 1] {
            let query =
                "SELECT rowid, \(columns) FROM \(name) WHERE \(condition) ORDER BY \(order) LIMIT \(limit)"
            do {
                let rows = try Row.fetchAll(source, sql: query)
                for row in rows { try insert(Array(row.databaseValues.dropFirst())) }
                return .some(rows.last?[0])
            } catch let error as DatabaseError where error.saysDamage {
                failures += 1
            }
        }
        return nil
    }

    /// Copies a table without row ids from its beginning, then from its end, each up to the first
    /// failure.
    private mutating func copyByKey() throws -> Bool {
        let key = try target.primaryKey(name).columns
        // A row has at least one byte; if there are more rows than bytes, the pages form a circle.
        let sizes = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
        let bytes = try source.value(sizes) ?? 0
        for direction in ["", " DESC"] {
            let order = key.map { $0 + direction }.joined(separator: ", ")
            do {
                let rows = try Row.fetchCursor(
                    source, sql: "SELECT \(columns) FROM \(name) ORDER BY \(order)")
                var count = 0
                while count < bytes, let row = try rows.next() {
                    try insert(Array(row.databaseValues))
                    count += 1
                }
                if count < bytes { return direction.isEmpty }
            } catch let error as DatabaseError where error.saysDamage {
                continue
            }
        }
        return false
    }

    private func insert(_ values: [DatabaseValue]) throws {
        try target.cachedStatement(sql: insertion).execute(arguments: StatementArguments(values))
    }
}
