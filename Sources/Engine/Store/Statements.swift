import GRDB

// Statements, each prepared once per connection.

extension Database {
    func run(_ sql: String, _ arguments: StatementArguments = []) throws {
        try cachedStatement(sql: sql).execute(arguments: arguments)
    }

    /// - Parameter rows: A query without its `SELECT … FROM`.
    func hasRow(_ rows: String, _ arguments: StatementArguments = []) throws -> Bool {
        try value("SELECT EXISTS (SELECT 1 FROM \(rows))", arguments) ?? false
    }

    /// Returns the first column of the first row; nil if there is no row, or if it is NULL.
    func value<Value: DatabaseValueConvertible & StatementColumnConvertible>(
        _ sql: String, _ arguments: StatementArguments = []
    ) throws -> Value? {
        try Value.fetchOne(cachedStatement(sql: sql), arguments: arguments)
    }

    /// Returns the first column of all rows.
    func values<Value: DatabaseValueConvertible & StatementColumnConvertible>(
        _ sql: String, _ arguments: StatementArguments = []
    ) throws -> [Value] {
        try Value.fetchAll(cachedStatement(sql: sql), arguments: arguments)
    }

    /// Returns the first row.
    func row(_ sql: String, _ arguments: StatementArguments = []) throws -> Row? {
        try Row.fetchOne(cachedStatement(sql: sql), arguments: arguments)
    }

    func rows(_ sql: String, _ arguments: StatementArguments = []) throws -> [Row] {
        try Row.fetchAll(cachedStatement(sql: sql), arguments: arguments)
    }

    /// Returns the first row, decoded from the statement: to copy its columns takes longer.
    func row<Value>(
        _ sql: String, _ arguments: StatementArguments = [],
        _ decode: (StatementRow) throws -> Value
    ) throws -> Value? {
        let cursor = try StatementRow.fetchCursor(cachedStatement(sql: sql), arguments: arguments)
        // The row reads from the cursor's statement, which the end of the cursor resets.
        return try withExtendedLifetime(cursor) { try cursor.next().map(decode) }
    }

    /// Returns all rows, decoded from the statement.
    ///
    /// - Parameter decode: Runs no statement with the same text.
    func rows<Value>(
        _ sql: String, _ arguments: StatementArguments = [],
        _ decode: (StatementRow) throws -> Value
    ) throws -> [Value] {
        let cursor = try StatementRow.fetchCursor(cachedStatement(sql: sql), arguments: arguments)
        var values: [Value] = []
        while let row = try cursor.next() { try values.append(decode(row)) }
        return values
    }
}
