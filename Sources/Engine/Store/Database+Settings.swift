import GRDB

// Rows of `settings`.

extension Database {
    /// Returns the salt that distinguishes this mount's generated names from those of other mounts.
    func salt() throws -> String {
        try String.fetchOne(
            cachedStatement(sql: "SELECT value FROM settings WHERE key = 'salt'")) ?? ""
    }
}
