import GRDB
import Synchronization

/// Moves the contents of the write-ahead log into the database file, so that the log is reused
/// instead of growing: for a pool on a connection and a thread of its own, so that no commit waits
/// for it.
///
/// While a checkpoint runs, commits go on and make the log longer, so that it would never be empty
/// under load. If it exceeds ``framesMax``, writers wait for the rest, which is little.
final class Checkpointer: Sendable {
    /// The number of changed rows after which a checkpoint begins; each takes some two to five pages
    /// of 4 KiB in the log.
    static let changesMax = 500
    /// The number of changed rows that count of one transaction: more are neighbours and share pages.
    private static let countedMax = 250
    /// The number of pages in the log from which on it has to begin again.
    static let framesMax = 2_000

    private struct State {
        /// The changed rows since the last checkpoint began.
        var changes = 0
        var isRunning = false
    }

    private let writer: WriterConnection
    private let commitSync: CommitSync
    /// nil for a database with only one connection.
    private let connection: DatabaseQueue?
    private let changesMax: Int
    private let state = Mutex(State())

    /// - Parameter changesMax: As ``changesMax``.
    init(
        _ writer: WriterConnection, _ commitSync: CommitSync, changesMax: Int
    ) throws {
        self.writer = writer
        self.commitSync = commitSync
        self.changesMax = changesMax
        guard let pool = writer.database as? DatabasePool else {
            connection = nil
            return
        }
        var configuration = Configuration()
        // Writers wait at most that long for readers of an old state of the database.
        configuration.busyMode = .timeout(0.05)
        configuration.prepareDatabase { database in
            try database.execute(sql: "PRAGMA synchronous = NORMAL")
        }
        connection = try DatabaseQueue(path: pool.path, configuration: configuration)
    }

    /// Begins a checkpoint if enough was changed since the last one.
    ///
    /// - Parameter changes: The number of rows changed by a commit.
    func note(changes: Int) {
        let isDue = state.withLock { state in
            state.changes += min(changes, Self.countedMax)
            guard state.changes >= changesMax, !state.isRunning else { return false }
            (state.changes, state.isRunning) = (0, true)
            return true
        }
        guard isDue else { return }
        guard let connection else {
            return run { try writer.use { _ = try $0.checkpoint(.passive) } }
        }
        connection.asyncWriteWithoutTransaction { database in
            self.run { try self.checkpoint(database) }
        }
    }

    /// Runs a checkpoint. If it fails, the log grows until the next one.
    private func run(_ checkpoint: () throws -> Void) {
        if (try? commitSync.prepareCheckpoint()) != nil { try? checkpoint() }
        state.withLock { $0.isRunning = false }
    }

    private func checkpoint(_ database: Database) throws {
        // SQLite must not be asked once the connection is closed.
        guard database.sqliteConnection != nil else { return }
        let (frames, _) = try database.checkpoint(.passive)
        guard frames >= Self.framesMax else { return }
        try writer.use { _ in _ = try database.checkpoint(.restart) }
    }

    /// Waits for a running checkpoint.
    func close() { try? connection?.close() }
}
