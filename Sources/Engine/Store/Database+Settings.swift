import GRDB

// Rows of `settings`.

extension Database {
    /// What tells names that this mount makes up from those of other mounts.
    func salt() throws -> String {
        try String.fetchOne(
            cachedStatement(sql: "SELECT value FROM settings WHERE key = 'salt'")) ?? ""
    }
}
