package import Engine
package import GRDB
import Synchronization

/// A mount from one seed: an engine with clock, disk, database, provider and executor, which can be
/// killed and restarted at any moment.
///
/// The database is SQLite in memory and holds the commits of dead processes: SQLite's own crash
/// safety is taken for granted, except with ``SimulatedMountSettings/keepsDatabaseOnDisk``.
///
/// All calls except ``run(_:)`` are made inside it.
package final class SimulatedMount: Sendable {
    private struct State {
        var random: SeededGenerator
        var process: Process?
    }

    private struct Process {
        let engine: Engine
        let life: SimulatedLife
        let database: DatabaseQueue
        let commits: CrashingCommits?
        let provider: CrashingProvider
        let kernelCache: SimulatedKernelCache
        let work: Task<Void, Never>
    }

    package let seed: UInt64
    package let clock: SimulatedClock
    package let executor: SeededExecutor
    package let disk: SimulatedDisk
    package let provider: SimulatedProvider
    package let log: SimulatedLog
    private let settings: SimulatedMountSettings
    /// Shared by all processes in turn; `nil` if it is on ``databaseDisk``.
    private let database: DatabaseQueue?
    private let databaseDisk: DatabaseDisk?
    private let state: Mutex<State>
    private let boots = Mutex(0)
    private let nextExclusions: Mutex<Exclusions>

    /// - Parameter logLines: The number of log lines kept for messages.
    package init(
        seed: UInt64, settings: SimulatedMountSettings = SimulatedMountSettings(),
        logLines: Int = 0
    ) throws {
        var random = SeededGenerator(seed: seed)
        self.seed = seed
        self.settings = settings
        nextExclusions = Mutex(settings.engine.exclusions)
        clock = SimulatedClock()
        executor = SeededExecutor(
            seed: random.next(), clock: clock, stepsMax: settings.stepsMax)
        disk = SimulatedDisk(
            seed: random.next(), clock: clock, capacityBytes: settings.diskBytes,
            isQuota: settings.isDiskQuota, sharesBytes: settings.sharesBytes)
        provider = SimulatedProvider(
            clock: clock, random: random.split(), settings: settings.provider)
        log = SimulatedLog(clock: clock, linesMax: logLines)
        database = settings.keepsDatabaseOnDisk ? nil : try DatabaseQueue()
        databaseDisk = settings.keepsDatabaseOnDisk ? DatabaseDisk(random: random.split()) : nil
        state = Mutex(State(random: random, process: nil))
    }

    /// Runs `body`, then ends the process if it is alive.
    package func run<Value: Sendable>(
        _ body: @escaping @Sendable () async throws -> Value
    ) throws -> Value {
        try executor.run {
            let result: Result<Value, any Error>
            do {
                result = .success(try await body())
            } catch {
                result = .failure(error)
            }
            await self.kill()
            return try result.get()
        }
    }

    /// Calls ``run(_:)`` and adds the end of the log to its errors.
    func explaining<Value: Sendable>(
        _ body: @escaping @Sendable () async throws -> Value
    ) throws -> Value {
        do {
            return try run(body)
        } catch var failure as ProgramFailure {
            failure.log = log.lines
            throw failure
        } catch let error as SimulationError where !log.lines.isEmpty {
            var failure = ProgramFailure("the run went wrong: \(error.kind)")
            failure.log = log.lines
            throw failure
        }
    }

    // MARK: The process

    /// The engine of the living process.
    package var engine: Engine { process.engine }

    package var life: SimulatedLife { process.life }

    /// The database of the living process.
    var openDatabase: DatabaseQueue { process.database }

    /// The kernel's caches, as far as the living process invalidates them.
    package var kernelCache: SimulatedKernelCache { process.kernelCache }

    private var process: Process {
        guard let process = state.withLock({ $0.process }) else {
            preconditionFailure("the mount was not started")
        }
        return process
    }

    /// Starts a process on the state of the previous one.
    ///
    /// - Parameter deathStep: The step before which it dies, 1 being its first; `nil` for never.
    ///
    /// - Throws: Errors of `Engine.init`, also if it dies there.
    package func start(dyingBeforeStep deathStep: Int? = nil) throws(EngineError) {
        precondition(state.withLock { $0.process == nil }, "one process at a time")
        let disk = disk
        let life = SimulatedLife { [weak self] in
            disk.kill()
            self?.state.withLock { $0.process?.work.cancel() }
        }
        if let deathStep { life.dieBeforeStep(deathStep) }
        let (database, commits) = try openDatabase(for: life)
        log.note("--- the process starts")
        let (forProvider, forEngine) = state.withLock { ($0.random.split(), $0.random.split()) }
        let provider = CrashingProvider(
            provider, life: life, executor: executor, random: forProvider)
        let engine: Engine
        do throws(EngineError) {
            engine = try makeEngine(life, database, provider, forEngine)
        } catch {
            life.die()
            close(database, commits)
            throw error
        }
        let kernelCache = SimulatedKernelCache()
        engine.attach(kernelCache)
        let work = Task(executorPreference: executor) { await engine.run() }
        state.withLock {
            $0.process = Process(
                engine: engine, life: life, database: database, commits: commits,
                provider: provider, kernelCache: kernelCache, work: work)
        }
    }

    private func openDatabase(
        for life: SimulatedLife
    ) throws(EngineError) -> (DatabaseQueue, CrashingCommits?) {
        if let database {
            let commits = CrashingCommits(life: life)
            database.add(transactionObserver: commits, extent: .observerLifetime)
            return (database, commits)
        }
        do {
            guard let databaseDisk else { preconditionFailure("it is in memory or on the disk") }
            return (try databaseDisk.open(for: life), nil)
        } catch {
            life.die()
            throw EngineError(.failed, "open the simulated database", cause: error)
        }
    }

    private func close(_ database: DatabaseQueue, _ commits: CrashingCommits?) {
        if let commits {
            database.remove(transactionObserver: commits)
        } else {
            // The process is dead, so nothing more is written.
            try? database.close()
        }
    }

    /// Restarts after a death, once more if the new process dies during recovery. The last one does
    /// not die.
    ///
    /// - Parameter deathStep: The step before which the first one dies; `nil` for never.
    package func startAgain(dyingBeforeStep deathStep: Int?) async throws(EngineError) {
        do throws(EngineError) {
            try start(dyingBeforeStep: deathStep)
        } catch {
            guard deathStep != nil else { throw error }
            try start()
        }
        if life.isDead {
            await kill()
            try start()
        }
        life.dieNoMore()
    }

    private func makeEngine(
        _ life: SimulatedLife, _ database: DatabaseQueue, _ provider: CrashingProvider,
        _ random: SeededGenerator
    ) throws(EngineError) -> Engine {
        var configuration = settings.engine
        configuration.boot = "\(boots.withLock { $0 })"
        configuration.exclusions = exclusions
        let jitter = Mutex(random)
        let engine = try Engine(
            configuration: configuration,
            // Checkpoints are frequent, so that there are some in short runs too.
            store: try Store(
                database, ballast: settings.ballast, log: databaseDisk, checkpointChanges: 40),
            disk: CrashingDisk(disk, life: life), clock: clock,
            provider: provider, logger: log.logger, random: { jitter.withLock { $0.next() } })
        try engine.exclusionChange.apply()
        return engine
    }

    /// Ends the process like `kill -9`, and returns when none of its work is left.
    package func kill() async {
        let process = state.withLock { state in
            defer { state.process = nil }
            return state.process
        }
        guard let process else { return }
        log.note("--- the process dies")
        process.life.die()
        process.work.cancel()
        await process.work.value
        // A real store finishes a request long before a new process sends one.
        await process.provider.waitForRequests()
        close(process.database, process.commits)
    }

    /// Cuts the power: unsynced data may be lost.
    package func cutPower() async {
        await kill()
        log.note("--- the power is cut")
        disk.powerCut()
        databaseDisk?.cutPower()
        boots.withLock { $0 += 1 }
    }

    /// Returns a copy of the database, which is in memory, as a backup would have it.
    package func copyDatabase() throws -> DatabaseQueue {
        let copy = try DatabaseQueue()
        guard let database else { preconditionFailure("the database is on a disk") }
        try database.backup(to: copy)
        return copy
    }

    /// Replaces the database of a dead process by an older copy, and leaves all other files as they are.
    package func restoreDatabase(_ copy: DatabaseQueue) throws {
        precondition(state.withLock { $0.process == nil }, "a living process holds its state")
        guard let database else { preconditionFailure("the database is on a disk") }
        log.note("--- the database is restored")
        try copy.backup(to: database)
    }

    /// Gives the next process other patterns.
    package func setExclusions(_ exclusions: Exclusions) {
        nextExclusions.withLock { $0 = exclusions }
    }

    /// The patterns of the living process.
    package var exclusions: Exclusions { nextExclusions.withLock { $0 } }

    /// Makes some of the next disk operations fail, for content files and database.
    package func setDiskFaults(_ faults: DiskFaultPlan) {
        disk.setFaults(faults)
        databaseDisk?.setFaults(faults)
    }

    /// Ends the process in order, like an unmount that does not wait for pending changes.
    ///
    /// - Returns: Its duration on the simulated clock; `nil` if it died meanwhile.
    @discardableResult
    package func stop() async -> Duration? {
        let process = process
        let start = clock.uptime
        process.work.cancel()
        await process.work.value
        let end = clock.uptime
        if process.commits == nil { try? process.database.close() }
        let isAlive = !process.life.isDead
        await kill()
        return isAlive ? end - start : nil
    }

    /// Checks the state of a dead process without repairing it. Only if the database is in memory.
    ///
    /// - Throws: ``ProgramFailure`` if there is any error.
    package func check() throws {
        precondition(state.withLock { $0.process == nil }, "a living process holds its state")
        // SQLite recovers one on the disk when the next process opens it.
        guard let database else { return }
        let check = StateCheck(
            store: try Store(database), disk: disk, now: clock.wallTime,
            owner: settings.engine.owner, isDryRun: true)
        let report = try check.run()
        if report.isClean { return }
        throw ProgramFailure(
            "the check finds: "
                + report.findings.filter { $0.outcome != .note }.map { "\($0)" }
                .joined(separator: "; "))
    }

    // MARK: Coming to rest

    /// Ends all faults, and waits until the remote is found again.
    package func endFaults() async throws {
        FaultPlan().apply(to: provider)
        let found = clock.uptime + FaultPlan.recoveryMax
        while engine.outage != nil, clock.uptime < found {
            try await clock.sleep(until: clock.uptime + .milliseconds(500))
        }
    }

    /// Ends all faults, and waits until the remote is found again and all local changes are uploaded.
    ///
    /// - Parameter bound: The time limit on the simulated clock.
    ///
    /// - Returns: Whether no changes are pending.
    package func settle(within bound: Duration = .seconds(7_200)) async throws -> Bool {
        try await endFaults()
        return try await waitForRest(within: bound)
    }

    /// Waits until nothing is pending, with the current faults.
    package func waitForRest(within bound: Duration) async throws -> Bool {
        let deadline = clock.uptime + bound
        while clock.uptime < deadline {
            let pending = try engine.pending(below: .root)
            if pending.count == 0, pending.held == 0 { return true }
            try await clock.sleep(until: clock.uptime + .milliseconds(500))
        }
        return false
    }
}
