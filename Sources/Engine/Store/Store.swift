package import GRDB
package import Meters

/// The mount's database: opens it, and converts its errors to the engine's.
///
/// Calls block; they are made on FUSE threads and in tasks whose threads may block.
/// Writers are serialised. Readers see the last commit; they never wait for a writer, except in
/// ``readInTurn(_:)``.
package final class Store: Sendable {
    private let writer: WriterConnection
    private let ballast: (any Ballast)?
    let commitSync: CommitSync
    let commitWatch = CommitWatch()
    private let checkpointer: Checkpointer?
    /// The durations of commits, without those of their transactions.
    package let commitTimes = Histogram()
    /// The durations of ``synchronize()``, with the wait for a synchronisation under way.
    package let syncTimes = Histogram()
    let knownSalt = Locked<String?>(nil)
    /// The meaning of `folded_name` on the connections of a pool.
    private let names: Locked<NameMatching>

    /// Migrates the schema to the current version.
    ///
    /// - Parameters:
    ///   - ballast: Space for when the disk is full; a transaction that fails for lack of space is
    ///     retried for each piece of it.
    ///   - log: The write-ahead log of a database without SQLite's automatic checkpoints; nil if
    ///     ``synchronize()`` is to make a commit that SQLite synchronises.
    ///   - checkpointChanges: The number of changed rows after which the log is moved into the
    ///     database.
    /// - Throws: `.damaged` if the database is not one of ours, or of another version.
    package convenience init(
        _ writer: any DatabaseWriter, ballast: (any Ballast)? = nil,
        log: (any DatabaseLog)? = nil, checkpointChanges: Int = Checkpointer.changesMax
    ) throws(EngineError) {
        try self.init(
            writer, ballast: ballast, log: log, checkpointChanges: checkpointChanges,
            names: Locked(.exact))
    }

    private init(
        _ database: any DatabaseWriter, ballast: (any Ballast)?, log: (any DatabaseLog)?,
        checkpointChanges: Int, names: Locked<NameMatching>
    ) throws(EngineError) {
        self.names = names
        let writer = WriterConnection(database)
        self.writer = writer
        self.ballast = ballast
        let commitSync = CommitSync(writer, log: log)
        self.commitSync = commitSync
        checkpointer = try onDatabase("open the state database") {
            try log.map { _ in
                try Checkpointer(writer, commitSync, changesMax: checkpointChanges)
            }
        }
        try onDatabase("open the state database") {
            let (condition, isCurrent) = try reading { database in
                (
                    try StateDatabase.condition(of: database, thoroughly: false),
                    try Schema.migrator.hasCompletedMigrations(database)
                )
            }
            if let refusal = StateDatabase.refusal(condition, database.path) { throw refusal }
            if !isCurrent { try withBallast { try Schema.migrator.migrate(database) } }
            try writer.use { try SettlementTrigger.install(on: $0, commitSync) }
        }
    }

    /// Opens the database file; creates it if it is missing.
    ///
    /// It uses WAL, so that readers do not wait for the writer. A commit survives `kill -9`
    /// immediately, and power loss after ``synchronize()``.
    ///
    /// - Parameter cacheBytes: Limit of the bytes that the caches of all connections take.
    /// - Throws: `.damaged`, before anything is written, for a file that is damaged or of another
    ///   version.
    package convenience init(
        path: String, ballast: (any Ballast)? = nil, log: (any DatabaseLog)? = nil,
        cacheBytes: UInt64 = 16 << 20
    ) throws(EngineError) {
        let condition = try StateDatabase.condition(ofFileAt: path, thoroughly: false)
        if let refusal = StateDatabase.refusal(condition, path) { throw refusal }
        let names = Locked(NameMatching.exact)
        let pool = try onDatabase("open the state database \"\(path)\"") {
            try DatabasePool(
                path: path,
                configuration: Self.configuration(
                    checkpointsAlone: log == nil, cacheBytes: cacheBytes, names))
        }
        try self.init(
            pool, ballast: ballast, log: log, checkpointChanges: Checkpointer.changesMax,
            names: names)
    }

    /// Half of the bytes for caches are the writer's, which brief reads use too; the readers share the
    /// others. The file is not mapped into memory, where a failing disk would end the process (`SIGBUS`)
    /// instead of one call.
    ///
    /// - Parameter checkpointsAlone: Whether SQLite makes checkpoints, as part of commits.
    private static func configuration(
        checkpointsAlone: Bool, cacheBytes: UInt64, _ names: Locked<NameMatching>
    ) -> Configuration {
        var configuration = Configuration()
        let readersMax = 8
        configuration.maximumReaderCount = readersMax
        let writerKibibytes = cacheBytes >> 11
        let readerKibibytes = writerKibibytes / UInt64(readersMax)
        configuration.busyMode = .timeout(5)
        configuration.prepareDatabase { database in
            database.add(function: NameMatching.function { names.withLock { $0 } })
            let cacheKibibytes =
                database.configuration.readonly ? readerKibibytes : writerKibibytes
            try database.execute(
                sql: """
                    PRAGMA synchronous = NORMAL;
                    PRAGMA cache_size = -\(cacheKibibytes);
                    PRAGMA mmap_size = 0;
                    PRAGMA secure_delete = FAST;
                    PRAGMA wal_autocheckpoint = \(checkpointsAlone ? 1_000 : 0);
                    """)
        }
        return configuration
    }

    /// Counts the transactions that changed something. As long as it has the value from before a
    /// read, nothing that was read has changed: a commit is counted before ``write(_:)`` returns,
    /// and before the next transaction begins.
    var commitCount: UInt64 { commitSync.commitCount }

    func read<Value>(_ body: (Database) throws -> Value) throws(Blocked) -> Value {
        try read { try reading(body) }
    }

    private func read<Value>(_ body: () throws -> Value) throws(Blocked) -> Value {
        do {
            return try body()
        } catch let halt as Blocked {
            throw halt
        } catch {
            throw .failure(EngineError(database: error, "read the state database", isOpen: true))
        }
    }

    /// Reads a few rows: as ``read(_:)``, but on the writer's connection if that is free. It has the
    /// pages of the last commits in its cache, which each commit takes from those of readers.
    func readBriefly<Value>(_ body: (Database) throws -> Value) throws(Blocked) -> Value {
        try read {
            try writer.useIfFree { try Self.withoutChanges(in: $0, body) } ?? reading(body)
        }
    }

    /// Reads a few rows on the writer's connection, and waits for it. For tasks in the background, as it
    /// saves work rather than time.
    func readInTurn<Value>(_ body: (Database) throws -> Value) throws(Blocked) -> Value {
        try read {
            try writer.use { try Self.withoutChanges(in: $0, body) }
        }
    }

    /// Makes the index of names follow a kind of matching. Called before the first use of names.
    ///
    /// - Returns: See ``Database/setNameMatching(_:)``.
    func matchNames(_ matching: NameMatching) throws(Blocked) -> [InodeNumber] {
        names.withLock { $0 = matching }
        return try write { try $0.setNameMatching(matching) }
    }

    /// Returns the names that the remote takes for one, as an earlier mount has found out; nil if none did.
    package func knownNames() throws(EngineError) -> NameMatching? {
        do throws(Blocked) {
            return try read { try $0.knownNames() }
        } catch {
            throw error.failure
        }
    }

    /// Keeps the names that the remote takes for one, which were just found out, for later mounts.
    package func keep(_ names: NameMatching) throws(EngineError) {
        if try knownNames() == names { return }
        do throws(Blocked) {
            try write { try $0.setKnownNames(names) }
        } catch {
            throw error.failure
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
        let isOnly = writer.database is DatabaseQueue
        return try writer.database.unsafeRead { database in
            if isOnly { return try Self.withoutChanges(in: database, body) }
            try database.run("BEGIN DEFERRED TRANSACTION")
            defer {
                if (try? database.run("COMMIT TRANSACTION")) == nil { try? database.rollback() }
            }
            return try body(database)
        }
    }

    /// Reads on a connection that can write, and has no other user meanwhile. To make SQLite refuse
    /// changes would take a pragma before and after, each of which recompiles all statements.
    private static func withoutChanges<Value>(
        in database: Database, _ body: (Database) throws -> Value
    ) rethrows -> Value {
        let before = changeCount(database)
        defer { precondition(changeCount(database) == before, "a read changed the database") }
        return try body(database)
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
        let (value, changes) = try writer.use { database in
            let before = Self.changeCount(database)
            defer { if Self.changeCount(database) != before { commitSync.noteCommit() } }
            // GRDB's own transactions are compiled each time.
            try database.run("BEGIN IMMEDIATE TRANSACTION")
            do {
                let value = try body(database)
                try commitTimes.timing { try database.run("COMMIT TRANSACTION") }
                return (value, Self.changeCount(database) - before)
            } catch {
                try? database.rollback()
                throw error
            }
        }
        checkpointer?.note(changes: changes)
        if changes > 0 { commitWatch.noteCommit() }
        return value
    }

    /// Returns once everything committed so far survives power loss. Concurrent callers share a
    /// synchronisation; other transactions do not wait for it.
    ///
    /// - Throws: If it fails, to every caller that depended on it.
    func synchronize() throws(Blocked) {
        do {
            try syncTimes.timing { try withBallast { try commitSync.synchronize() } }
        } catch let error as DiskError {
            throw .failure(EngineError(error, "synchronize the state database"))
        } catch {
            throw .failure(EngineError(database: error, "synchronize the state database"))
        }
    }

    /// Whether no power cut makes a file pending again that has stopped being pending. Until then, its
    /// local bytes may be all that the database knows of it after one.
    var isSettled: Bool { commitSync.isSettled }

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
            } catch let error where isForWantOfRoom(error) {
                guard let ballast, ballast.giveUp() else {
                    guard let error = error as? DatabaseError else { throw error }
                    throw DatabaseError(resultCode: .SQLITE_FULL, message: error.message)
                }
                // Moves the log's contents into the database, so that the log is reused instead of
                // growing. If this fails, the log grows.
                guard (try? commitSync.prepareCheckpoint()) != nil else { continue }
                _ = try? writer.use { try $0.checkpoint(.passive) }
            }
        }
    }

    private func isForWantOfRoom(_ error: any Error) -> Bool {
        // Of the log: a disk that copies on write needs room to rewrite it.
        if let error = error as? DiskError { return error.kind == .full }
        guard let error = error as? DatabaseError else { return false }
        if error.saysFull { return true }
        return error.extendedResultCode == .SQLITE_IOERR_WRITE && ballast?.isDiskFull() == true
    }

    package func close() {
        // The next mount needs it if the disk fills up in the meantime.
        _ = restoreBallast()
        // SQLite makes a checkpoint when the last connection closes.
        try? commitSync.prepareCheckpoint()
        checkpointer?.close()
        // Connections that stay open close with the process; every commit is already safe.
        try? writer.database.close()
    }
}
