import GRDB

/// The current row of a running statement, which reads its columns; valid until the next step.
///
/// GRDB's `Row` has the names of its columns, too: it copies and sorts them for each query, which takes
/// longer than to read one row. A cursor of values passes the statement on instead.
struct StatementRow: DatabaseValueConvertible, StatementColumnConvertible {
    private let statement: SQLiteStatement

    init(sqliteStatement: SQLiteStatement, index: CInt) {
        statement = sqliteStatement
    }

    /// Returns the row, also if its first column is NULL.
    static func fromStatement(
        _ sqliteStatement: SQLiteStatement, atUncheckedIndex index: CInt
    ) -> Self? {
        Self(sqliteStatement: sqliteStatement, index: index)
    }

    // Required of the values of a cursor. Only columns have database values.
    var databaseValue: DatabaseValue { .null }
    static func fromDatabaseValue(_ value: DatabaseValue) -> Self? { nil }

    /// Decodes a column.
    ///
    /// - Precondition: The column has that type, or is NULL and the type optional.
    subscript<Value: StatementColumnConvertible>(_ index: Int) -> Value {
        guard let value = Value.fromStatement(statement, atUncheckedIndex: CInt(index)) else {
            preconditionFailure("column \(index) has a value of another type")
        }
        return value
    }
}
