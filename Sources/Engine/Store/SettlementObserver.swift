import GRDB
import Synchronization

/// Notices transactions in which inodes stop being pending.
final class SettlementObserver: TransactionObserver, Sendable {
    private let isSettling = Atomic(false)

    /// Whether any did since the last call.
    func take() -> Bool { isSettling.exchange(false, ordering: .relaxed) }

    func observes(eventsOfKind kind: DatabaseEventKind) -> Bool {
        if case .delete(tableName: "pending") = kind { true } else { false }
    }

    func databaseDidChange(with event: DatabaseEvent) {
        isSettling.store(true, ordering: .relaxed)
        stopObservingDatabaseChangesUntilNextTransaction()
    }

    func databaseDidCommit(_ db: Database) {}

    func databaseDidRollback(_ db: Database) {}
}
