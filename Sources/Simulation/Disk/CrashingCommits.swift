import GRDB

/// Refuses the commits of a process after its death.
///
/// A refused commit is rolled back, as SQLite does with an unfinished transaction of a dead
/// process.
final class CrashingCommits: TransactionObserver, Sendable {
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
