import CSimulation
package import GRDB

/// Counts the instructions of SQLite's statements on one connection, a measure of work that does not
/// depend on the machine.
package struct StatementSteps {
    private let counter: UnsafeMutablePointer<Int64>

    /// Begins to count.
    package init(on database: Database) {
        counter = simulated_steps_start(UnsafeMutableRawPointer(database.sqliteConnection))
    }

    /// Stops counting.
    ///
    /// - Returns: The number of instructions.
    package func stop(on database: Database) -> Int64 {
        simulated_steps_stop(UnsafeMutableRawPointer(database.sqliteConnection), counter)
    }
}
