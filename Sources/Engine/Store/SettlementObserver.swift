import GRDB

/// Notices transactions in which inodes stop being pending.
final class SettlementObserver: TransactionObserver, Sendable {
    private let commitSync: CommitSync

    init(_ commitSync: CommitSync) { self.commitSync = commitSync }

    func observes(eventsOfKind kind: DatabaseEventKind) -> Bool {
        if case .delete(tableName: "pending") = kind { true } else { false }
    }

    /// Called before the commit, which readers may see before it is counted.
    func databaseDidChange(with event: DatabaseEvent) {
        commitSync.noteSettling()
        stopObservingDatabaseChangesUntilNextTransaction()
    }

    func databaseDidCommit(_ db: Database) {}

    func databaseDidRollback(_ db: Database) {}
}
