import GRDB

/// The row of `totals`: numbers that triggers keep, so that nothing counts whole tables.
struct Totals: Hashable {
    /// The columns, each with the query whose result it has.
    static let columns: [(name: String, query: String)] = [
        ("names", "SELECT count(*) FROM dirents"),
        ("local_bytes", "SELECT coalesce(sum(bytes), 0) FROM local_bytes"),
        ("pending", "SELECT count(*) FROM pending"),
        ("deletions", "SELECT count(*) FROM pending JOIN inodes ON id = inode WHERE links = 0"),
        (
            "pending_bytes",
            """
            SELECT coalesce(sum(\(Schema.pendingBytes("inodes."))), 0)
            FROM pending CROSS JOIN inodes ON id = inode
            """
        ),
        ("failed", "SELECT count(*) FROM pending WHERE final AND kind IS NOT 'busy'"),
        ("final", "SELECT count(*) FROM pending WHERE final"),
    ]

    /// A statement that counts all of them.
    static let counting =
        "UPDATE totals SET " + columns.map { "\($0) = (\($1))" }.joined(separator: ", ") + ";"

    var names: UInt64 = 0
    var localBytes: UInt64 = 0
    var pending: UInt64 = 0
    var deletions: UInt64 = 0
    var pendingBytes: UInt64 = 0
    var failed: UInt64 = 0
    var failedFinally: UInt64 = 0
}

extension Database {
    func totals() throws -> Totals {
        let names = Totals.columns.map(\.name).joined(separator: ", ")
        guard let row = try row("SELECT \(names) FROM totals") else { return Totals() }
        // `apus check` repairs a wrong number; until then it must not stop the status.
        let numbers = Array(row.databaseValues).map {
            UInt64(clamping: Int64.fromDatabaseValue($0) ?? 0)
        }
        return Totals(
            names: numbers[0], localBytes: numbers[1], pending: numbers[2],
            deletions: numbers[3], pendingBytes: numbers[4], failed: numbers[5],
            failedFinally: numbers[6])
    }
}
