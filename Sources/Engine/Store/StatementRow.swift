import GRDB

/// The current row of a running statement, which reads its columns; valid until the next step.
///
/// GRDB's `Row` has the names of its columns, too: it copies and sorts them for each query, which takes
/// longer than to read one row.
struct StatementRow {
    private let statement: SQLiteStatement

    init(_ statement: SQLiteStatement) { self.statement = statement }

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
