import GRDB

/// Notices transactions in which inodes stop being pending.
///
/// A trigger of the connection calls a function for each row that is deleted from `pending`, also by another
/// trigger. A REPLACE of such a row is not noticed; no statement does that. GRDB's observers of
/// transactions would require that all deletions run through GRDB.
enum SettlementTrigger {
    static func install(on database: Database, _ commitSync: CommitSync) throws {
        // Weak: the connection retains the function, and `commitSync` the connection. The function of an
        // earlier store on this connection is replaced, as in a simulated restart.
        database.add(
            function: DatabaseFunction("note_settling", argumentCount: 0) { [weak commitSync] _ in
                commitSync?.noteSettling()
                return nil
            })
        try database.execute(
            sql: """
                CREATE TEMP TRIGGER IF NOT EXISTS settling AFTER DELETE ON main.pending
                BEGIN SELECT note_settling(); END
                """)
    }
}
