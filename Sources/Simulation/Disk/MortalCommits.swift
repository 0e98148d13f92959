import GRDB

/// Lets a database take the commits of one process until its death, and no later ones.
///
/// A commit that is refused is rolled back, as SQLite does with what a dead process left.
final class MortalCommits: TransactionObserver, Sendable {
    private let life: SimulatedLife

    init(life: SimulatedLife) {
        self.life = life
    }

    func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { false }

    func databaseDidChange(with event: DatabaseEvent) {}

    func databaseWillCommit() throws {
        try life.step()
    }

    func databaseDidCommit(_ database: Database) {}

    func databaseDidRollback(_ database: Database) {}
}
