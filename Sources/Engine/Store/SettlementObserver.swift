import GRDB

/// Notices transactions in which inodes stop being pending.
final class SettlementObserver: TransactionObserver, Sendable {
    private let commitSync: CommitSync

    init(_ commitSync: CommitSync) { self.commitSync = commitSync }

    func observes(eventsOfKind kind: DatabaseEventKind) -> Bool {
        if case .delete(tableName: "pending") = kind { true } else { false }
    }

    /// Called before the commit, which readers may see before it is counted.
    ///
    /// It goes on to observe: GRDB would not resume that after a transaction that SQLite has rolled back by
    /// itself, as GRDB runs only some of the statements.
    func databaseDidChange(with event: DatabaseEvent) { commitSync.noteSettling() }

    func databaseDidCommit(_ db: Database) {}

    func databaseDidRollback(_ db: Database) {}
}
