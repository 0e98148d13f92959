import GRDB
import GRDBSQLite
import Glibc

// Statements, each prepared once per connection. They are bound, run and reset here: GRDB converts the arguments
// twice, and looks at each statement for observers and effects on a transaction.

extension Database {
    func run(_ sql: String, _ arguments: Arguments = []) throws {
        let statement = try cachedStatement(sql: sql)
        guard sql.hasPrefix("INSERT") || sql.hasPrefix("UPDATE") || sql.hasPrefix("DELETE") else {
            // GRDB keeps track of transactions.
            return try statement.execute(
                arguments: arguments.isEmpty ? nil : StatementArguments(arguments))
        }
        _ = try first(statement, arguments) { _ in }
    }

    /// - Parameter rows: A query without its `SELECT … FROM`.
    func hasRow(_ rows: String, _ arguments: Arguments = []) throws -> Bool {
        try value("SELECT EXISTS (SELECT 1 FROM \(rows))", arguments) ?? false
    }

    /// Returns the first column of the first row; nil if there is no row, or if it is NULL.
    func value<Value: StatementColumnConvertible>(
        _ sql: String, _ arguments: Arguments = []
    ) throws -> Value? {
        try first(cachedStatement(sql: sql), arguments) { $0[0] as Value? }.flatMap(\.self)
    }

    /// Returns the first column of all rows.
    func values<Value: StatementColumnConvertible>(
        _ sql: String, _ arguments: Arguments = []
    ) throws -> [Value] {
        try rows(sql, arguments) { $0[0] }
    }

    /// Returns the first row.
    func row(_ sql: String, _ arguments: Arguments = []) throws -> Row? {
        try Row.fetchOne(cachedStatement(sql: sql), arguments: StatementArguments(arguments))
    }

    func rows(_ sql: String, _ arguments: Arguments = []) throws -> [Row] {
        try Row.fetchAll(cachedStatement(sql: sql), arguments: StatementArguments(arguments))
    }

    /// Returns the first row, decoded from the statement: to copy its columns takes longer.
    ///
    /// - Parameter decode: Runs no statement with the same text.
    func row<Value>(
        _ sql: String, _ arguments: Arguments = [], _ decode: (StatementRow) throws -> Value
    ) throws -> Value? {
        try first(cachedStatement(sql: sql), arguments, decode)
    }

    /// Returns all rows, decoded from the statement.
    ///
    /// - Parameter decode: Runs no statement with the same text.
    func rows<Value>(
        _ sql: String, _ arguments: Arguments = [], _ decode: (StatementRow) throws -> Value
    ) throws -> [Value] {
        var values: [Value] = []
        try forEachRow(sql, arguments) { try values.append(decode($0)) }
        return values
    }

    /// - Parameter body: Runs no statement with the same text.
    func forEachRow(
        _ sql: String, _ arguments: Arguments = [], _ body: (StatementRow) throws -> Void
    ) throws {
        let statement = try cachedStatement(sql: sql)
        try withBindings(arguments, of: statement) {
            while try step(statement) { try body(StatementRow(statement.sqliteStatement)) }
        }
    }

    /// Runs a statement to its first row, or to its end.
    private func first<Value>(
        _ statement: Statement, _ arguments: Arguments, _ decode: (StatementRow) throws -> Value
    ) throws -> Value? {
        try withBindings(arguments, of: statement) {
            guard try step(statement) else { return nil }
            return try decode(StatementRow(statement.sqliteStatement))
        }
    }

    private func withBindings<Value>(
        _ arguments: Arguments, of statement: Statement, _ body: () throws -> Value
    ) throws -> Value {
        defer {
            // Its result repeats the error of the last step.
            sqlite3_reset(statement.sqliteStatement)
            sqlite3_clear_bindings(statement.sqliteStatement)
        }
        let code = arguments.bind(to: statement.sqliteStatement)
        guard code == SQLITE_OK else {
            throw DatabaseError(
                resultCode: ResultCode(rawValue: code),
                message: "the arguments are not those of the statement", sql: statement.sql)
        }
        return try body()
    }

    /// - Returns: Whether there is a row.
    private func step(_ statement: Statement) throws -> Bool {
        switch sqlite3_step(statement.sqliteStatement) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        case let code: throw error(code, of: statement)
        }
    }

    private func error(_ code: CInt, of statement: Statement) -> DatabaseError {
        DatabaseError(
            resultCode: ResultCode(rawValue: code),
            message: String(cString: sqlite3_errmsg(sqliteConnection)), sql: statement.sql)
    }
}

/// The arguments of a statement: in the order of its parameters, or by their names without the colon.
struct Arguments: ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral {
    typealias Value = (any DatabaseValueConvertible)?

    fileprivate private(set) var values: [Value]
    /// Of ``values``; empty for arguments in order.
    fileprivate private(set) var names: [String] = []

    init(_ values: [Value]) { self.values = values }

    init(_ values: [String: Value]) {
        names = Array(values.keys)
        self.values = Array(values.values)
    }

    init(arrayLiteral values: Value...) { self.values = values }

    init(dictionaryLiteral elements: (String, Value)...) {
        names = elements.map(\.0)
        values = elements.map(\.1)
    }

    var isEmpty: Bool { values.isEmpty }

    /// - Precondition: Both are in order, or both have names.
    static func + (first: Self, second: Self) -> Self {
        var sum = first
        sum.values += second.values
        sum.names += second.names
        precondition(sum.names.isEmpty || sum.names.count == sum.values.count)
        return sum
    }

    /// - Returns: SQLite's code: `SQLITE_RANGE` unless there is one argument for each parameter.
    fileprivate func bind(to statement: SQLiteStatement) -> CInt {
        guard sqlite3_bind_parameter_count(statement) == values.count else { return SQLITE_RANGE }
        for (index, value) in values.enumerated() {
            let place =
                names.isEmpty ? CInt(index + 1) : Self.place(of: names[index], in: statement)
            let code = value?.bind(to: statement, at: place) ?? sqlite3_bind_null(statement, place)
            if code != SQLITE_OK { return code }
        }
        return SQLITE_OK
    }

    /// - Returns: 0, which SQLite refuses, if there is no parameter of that name.
    private static func place(of name: String, in statement: SQLiteStatement) -> CInt {
        name.withCString { name in
            for place in 1...sqlite3_bind_parameter_count(statement) {
                // It begins with a colon.
                guard let found = sqlite3_bind_parameter_name(statement, place) else { continue }
                if strcmp(found + 1, name) == 0 { return place }
            }
            return 0
        }
    }
}

extension StatementArguments {
    init(_ arguments: Arguments) {
        let (names, values) = (arguments.names, arguments.values)
        self = names.isEmpty ? Self(values) : Self(zip(names, values).map { ($0, $1) })
    }
}
