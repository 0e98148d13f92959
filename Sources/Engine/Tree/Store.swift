package import GRDB
import Synchronization

/// The mount's database: opens it, and turns its failures into the engine's.
///
/// Calls block, on FUSE threads and on the engine's executor, both of which may. Writers take turns;
/// readers see the last commit and wait for nobody.
package final class Store: Sendable {
    private let writer: any DatabaseWriter
    private let ballast: (any Ballast)?
    /// How many have asked for ``synchronize()``, and for how many of them it is done.
    private let synchronizations = Mutex<(asked: UInt64, done: UInt64)>((0, 0))

    /// Brings the schema up to date.
    ///
    /// - Parameter ballast: Room for when the disk is full; a transaction that finds it so is run
    ///   once more for each piece of it.
    /// - Throws: `.damaged` where the database is not one of ours, or of a newer version.
    package init(
        _ writer: any DatabaseWriter, ballast: (any Ballast)? = nil
    ) throws(EngineError) {
        self.writer = writer
        self.ballast = ballast
        do {
            let migrator = Schema.migrator
            if try writer.read(migrator.hasBeenSuperseded) {
                throw EngineError(
                    .damaged, "open the state database: a newer version of Apus made it",
                    remedy: "install that version, or mount with another --state-dir")
            }
            try withBallast { try migrator.migrate(writer) }
        } catch let error as EngineError {
            throw error
        } catch {
            throw EngineError(database: error, "open the state database")
        }
    }

    /// Opens the database file, creating it where it is missing.
    ///
    /// WAL, so that readers do not wait for the writer; a commit survives `kill -9` at once and
    /// power loss after ``synchronize()``.
    ///
    /// - Throws: `.damaged`, before anything is written, for a file that is damaged or newer.
    package convenience init(path: String, ballast: (any Ballast)? = nil) throws(EngineError) {
        var configuration = Configuration()
        configuration.maximumReaderCount = 8
        configuration.busyMode = .timeout(5)
        configuration.prepareDatabase { database in
            try database.execute(sql: "PRAGMA synchronous = NORMAL")
        }
        try StateDatabase.requireUsable(path)
        do {
            try self.init(DatabasePool(path: path, configuration: configuration), ballast: ballast)
        } catch let error as EngineError {
            throw error
        } catch {
            throw EngineError(database: error, "open the state database \"\(path)\"")
        }
    }

    func read<Value>(_ body: (Database) throws -> Value) throws(Halt) -> Value {
        do {
            guard let queue = writer as? DatabaseQueue else { return try writer.read(body) }
            return try queue.unsafeRead { database in
                try Self.withoutChanges(in: database) { try body(database) }
            }
        } catch let halt as Halt {
            throw halt
        } catch {
            throw .failure(EngineError(database: error, "read the state database"))
        }
    }

    /// Reads on the only connection that there is, where nobody else can come in between. To have SQLite
    /// refuse changes there takes a pragma before and after, each of which has all statements compiled
    /// anew.
    private static func withoutChanges<Value>(
        in database: Database, _ body: () throws -> Value
    ) rethrows -> Value {
        let before = database.totalChangesCount
        defer { precondition(database.totalChangesCount == before, "a read changed the database") }
        return try body()
    }

    /// Runs `body` as one transaction: committed on return, undone if it throws.
    ///
    /// - Parameter body: May be run again, once what it did is undone.
    func write<Value>(_ body: (Database) throws -> Value) throws(Halt) -> Value {
        do {
            return try withBallast { try writer.write(body) }
        } catch let halt as Halt {
            throw halt
        } catch {
            throw .failure(EngineError(database: error, "write the state database"))
        }
    }

    /// Returns once everything committed so far survives power loss. Those who ask while somebody
    /// else is at it share the next one.
    func synchronize() throws(Halt) {
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
            // In WAL mode a commit with synchronous=FULL syncs the log with all that precedes it. It
            // has to change something, or SQLite has nothing to commit.
            try database.execute(sql: "PRAGMA synchronous = FULL")
            defer { try? database.execute(sql: "PRAGMA synchronous = NORMAL") }
            try database.execute(
                sql: """
                    INSERT INTO settings VALUES ('synchronized', '1')
                    ON CONFLICT (key) DO UPDATE SET value = CAST(value AS INTEGER) + 1
                    """)
            synchronizations.withLock { $0.done = max($0.done, asked) }
        }
    }

    // MARK: A full disk

    /// Takes back the room that a full disk has cost.
    ///
    /// - Returns: Whether the database has all of its room; where it has not, only what makes room
    ///   may be written.
    func restoreBallast() -> Bool { ballast?.restore() ?? true }

    /// What ``restoreBallast()`` came to when it was last tried.
    var isBallastWhole: Bool { ballast?.isWhole ?? true }

    private func withBallast<Value>(_ body: () throws -> Value) throws -> Value {
        while true {
            do {
                return try body()
            } catch let error as DatabaseError where isForWantOfRoom(error) {
                guard let ballast, ballast.giveUp() else {
                    throw DatabaseError(resultCode: .SQLITE_FULL, message: error.message)
                }
                // What is in the log goes into the database, so that the log begins anew instead of
                // growing. If it cannot, the log grows.
                _ = try? writer.writeWithoutTransaction { try $0.checkpoint(.passive) }
            }
        }
    }

    private func isForWantOfRoom(_ error: DatabaseError) -> Bool {
        if error.saysFull { return true }
        return error.extendedResultCode == .SQLITE_IOERR_WRITE && ballast?.isDiskFull() == true
    }

    package func close() {
        // The next mount needs it where others fill the disk meanwhile.
        _ = restoreBallast()
        // What is left open closes with the process; every commit is safe already.
        try? writer.close()
    }
}
