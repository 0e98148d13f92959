package import GRDB
import Synchronization

/// The mount's database: opens it, and converts its errors to the engine's.
///
/// Calls block; they are made on FUSE threads and on the engine's executor, which may block.
/// Writers are serialised; readers see the last commit and never wait.
package final class Store: Sendable {
    private let writer: any DatabaseWriter
    private let ballast: (any Ballast)?
    /// The number of calls of ``synchronize()``, and how many of them are done.
    private let synchronizations = Mutex<(asked: UInt64, done: UInt64)>((0, 0))
    private let commits = Atomic<UInt64>(0)

    /// Migrates the schema to the current version.
    ///
    /// - Parameter ballast: Space for when the disk is full; a transaction that fails for lack of
    ///   space is retried for each piece of it.
    /// - Throws: `.damaged` if the database is not one of ours, or of another version.
    package init(
        _ writer: any DatabaseWriter, ballast: (any Ballast)? = nil
    ) throws(EngineError) {
        self.writer = writer
        self.ballast = ballast
        try onDatabase("open the state database") {
            let (condition, isCurrent) = try reading { database in
                (
                    try StateDatabase.condition(of: database, thoroughly: false),
                    try Schema.migrator.hasCompletedMigrations(database)
                )
            }
            if let refusal = StateDatabase.refusal(condition, writer.path) { throw refusal }
            if !isCurrent { try withBallast { try Schema.migrator.migrate(writer) } }
        }
    }

    /// Opens the database file; creates it if it is missing.
    ///
    /// It uses WAL, so that readers do not wait for the writer. A commit survives `kill -9`
    /// immediately, and power loss after ``synchronize()``.
    ///
    /// - Throws: `.damaged`, before anything is written, for a file that is damaged or of another
    ///   version.
    package convenience init(path: String, ballast: (any Ballast)? = nil) throws(EngineError) {
        var configuration = Configuration()
        configuration.maximumReaderCount = 8
        configuration.busyMode = .timeout(5)
        configuration.prepareDatabase { database in
            try database.execute(sql: "PRAGMA synchronous = NORMAL")
        }
        let condition = try StateDatabase.condition(ofFileAt: path, thoroughly: false)
        if let refusal = StateDatabase.refusal(condition, path) { throw refusal }
        let pool = try onDatabase("open the state database \"\(path)\"") {
            try DatabasePool(path: path, configuration: configuration)
        }
        try self.init(pool, ballast: ballast)
    }

    /// Counts the transactions that changed something. As long as it has the value from before a
    /// read, nothing that was read has changed: a commit is counted before ``write(_:)`` returns,
    /// and before the next transaction begins.
    var commitCount: UInt64 { commits.load(ordering: .acquiring) }

    func read<Value>(_ body: (Database) throws -> Value) throws(Blocked) -> Value {
        do {
            return try reading(body)
        } catch let halt as Blocked {
            throw halt
        } catch {
            throw .failure(EngineError(database: error, "read the state database", isOpen: true))
        }
    }

    /// The space that all content files take on the disk, as last measured, in bytes.
    package func presentBytes() throws(EngineError) -> UInt64 {
        do throws(Blocked) {
            return try read { try $0.presentBytes() }
        } catch {
            throw error.failure
        }
    }

    private func reading<Value>(_ body: (Database) throws -> Value) throws -> Value {
        guard let queue = writer as? DatabaseQueue else { return try writer.read(body) }
        return try queue.unsafeRead { database in
            try Self.withoutChanges(in: database) { try body(database) }
        }
    }

    /// Reads on the only connection, which has no other user meanwhile. To make SQLite refuse
    /// changes would take a pragma before and after, each of which recompiles all statements.
    private static func withoutChanges<Value>(
        in database: Database, _ body: () throws -> Value
    ) rethrows -> Value {
        let before = changeCount(database)
        defer { precondition(changeCount(database) == before, "a read changed the database") }
        return try body()
    }

    /// Returns the number of changed rows since the connection was opened; 0 once it is closed, as
    /// SQLite must not be asked then. The next statement fails.
    private static func changeCount(_ database: Database) -> Int {
        database.sqliteConnection == nil ? 0 : database.totalChangesCount
    }

    /// Runs `body` as one transaction: committed on return, rolled back if it throws.
    ///
    /// - Parameter body: May run again after a rollback.
    func write<Value>(_ body: (Database) throws -> Value) throws(Blocked) -> Value {
        do {
            return try withBallast { try transaction(body) }
        } catch let halt as Blocked {
            throw halt
        } catch {
            throw .failure(EngineError(database: error, "write the state database", isOpen: true))
        }
    }

    private func transaction<Value>(_ body: (Database) throws -> Value) throws -> Value {
        try writer.writeWithoutTransaction { database in
            let before = Self.changeCount(database)
            defer {
                if Self.changeCount(database) != before { commits.add(1, ordering: .releasing) }
            }
            var value: Value?
            try database.inTransaction {
                value = try body(database)
                return .commit
            }
            guard let value else { preconditionFailure("a committed transaction has a value") }
            return value
        }
    }

    /// Returns once everything committed so far survives power loss. Concurrent callers share the
    /// next synchronisation.
    func synchronize() throws(Blocked) {
        let ticket = synchronizations.withLock { state in
            state.asked += 1
            return state.asked
        }
        do {
            try withBallast { try synchronize(ticket) }
        } catch {
            throw .failure(EngineError(database: error, "synchronize the state database"))
        }
    }

    private func synchronize(_ ticket: UInt64) throws {
        try writer.writeWithoutTransaction { database in
            let (asked, done) = synchronizations.withLock { $0 }
            if done >= ticket { return }
            // In WAL mode a commit with synchronous=FULL syncs the log with all earlier commits. It
            // needs a change, or SQLite commits nothing. A pragma must not be cached: this one takes
            // effect when it is compiled.
            try database.execute(sql: "PRAGMA synchronous = FULL")
            defer { try? database.execute(sql: "PRAGMA synchronous = NORMAL") }
            try database.run(
                """
                INSERT INTO settings VALUES ('synchronized', '1')
                ON CONFLICT (key) DO UPDATE SET value = CAST(value AS INTEGER) + 1
                """)
            synchronizations.withLock { $0.done = max($0.done, asked) }
        }
    }

    // MARK: A full disk

    /// Restores the space used up by a full disk.
    ///
    /// - Returns: Whether all of it is restored; if not, only changes that free space may be
    ///   written.
    func restoreBallast() -> Bool { ballast?.restore() ?? true }

    /// The result of the last ``restoreBallast()``.
    var isBallastWhole: Bool { ballast?.isWhole ?? true }

    private func withBallast<Value>(_ body: () throws -> Value) throws -> Value {
        while true {
            do {
                return try body()
            } catch let error as DatabaseError where isForWantOfRoom(error) {
                guard let ballast, ballast.giveUp() else {
                    throw DatabaseError(resultCode: .SQLITE_FULL, message: error.message)
                }
                // Moves the log's contents into the database, so that the log is reused instead of
                // growing. If this fails, the log grows.
                _ = try? writer.writeWithoutTransaction { try $0.checkpoint(.passive) }
            }
        }
    }

    private func isForWantOfRoom(_ error: DatabaseError) -> Bool {
        if error.saysFull { return true }
        return error.extendedResultCode == .SQLITE_IOERR_WRITE && ballast?.isDiskFull() == true
    }

    package func close() {
        // The next mount needs it if the disk fills up in the meantime.
        _ = restoreBallast()
        // Connections that stay open close with the process; every commit is already safe.
        try? writer.close()
    }
}
