import GRDB

/// Counts the numbers in `totals` again.
struct TotalsCheck: CheckStep {
    let context: CheckContext

    func run() throws {
        try database.run("INSERT OR IGNORE INTO totals (id) VALUES (1)")
        for (column, query) in Totals.columns {
            let row = try database.row("SELECT \(column) FROM totals")
            let stored = row?.databaseValues.first ?? .null
            let counted: Int64 = try database.value(query) ?? 0
            guard stored != counted.databaseValue else { continue }
            try database.run("UPDATE totals SET \(column) = ?", [counted])
            try context.tell(
                .value, nil, "the total of \(column) is \(stored)",
                repair: "it is set to \(counted)")
        }
    }
}
