package import Engine
import GRDB
import Synchronization

/// A whole mount from one seed: an engine with clock, disk, database, provider and executor, that
/// can be killed and started again at any moment.
///
/// The database is SQLite in memory. What a dead process had committed is in it, and nothing else:
/// SQLite's own safety in a crash is taken for granted here.
///
/// All calls but ``run(_:)`` are made below it.
package final class SimulatedMount: Sendable {
    private struct State {
        var random: SeededGenerator
        var process: Process?
    }

    private struct Process {
        let engine: Engine
        let life: SimulatedLife
        let commits: MortalCommits
        let provider: MortalProvider
        let work: Task<Void, Never>
    }

    package let seed: UInt64
    package let clock: SimulatedClock
    package let executor: SeededExecutor
    package let disk: SimulatedDisk
    package let provider: SimulatedProvider
    package let log: SimulatedLog
    private let settings: SimulatedMountSettings
    private let database: DatabaseQueue
    private let state: Mutex<State>

    /// - Parameter logLines: How many lines of the engine's log are kept for messages.
    package init(
        seed: UInt64, settings: SimulatedMountSettings = SimulatedMountSettings(),
        logLines: Int = 0
    ) throws {
        var random = SeededGenerator(seed: seed)
        self.seed = seed
        self.settings = settings
        clock = SimulatedClock()
        executor = SeededExecutor(
            seed: random.next(), clock: clock, stepsMax: settings.stepsMax)
        disk = SimulatedDisk(
            seed: random.next(), clock: clock, capacityBytes: settings.diskBytes)
        provider = SimulatedProvider(
            clock: clock, random: random.split(), settings: settings.provider)
        log = SimulatedLog(clock: clock, linesMax: logLines)
        database = try DatabaseQueue()
        state = Mutex(State(random: random, process: nil))
    }

    /// Runs `body`, and ends the process if it is alive then.
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

    // MARK: The process

    /// The engine of the living process.
    package var engine: Engine { process.engine }

    package var life: SimulatedLife { process.life }

    private var process: Process {
        guard let process = state.withLock({ $0.process }) else {
            preconditionFailure("the mount was not started")
        }
        return process
    }

    /// Starts a process over what the one before left.
    ///
    /// - Parameter deathStep: At which of its steps it dies, 1 being its first; nil for never.
    /// - Throws: What `Engine.init` throws, which it also does if it dies right there.
    package func start(dyingBeforeStep deathStep: Int? = nil) throws(EngineError) {
        precondition(state.withLock { $0.process == nil }, "one process at a time")
        let disk = disk
        let life = SimulatedLife { [weak self] in
            disk.kill()
            self?.state.withLock { $0.process?.work.cancel() }
        }
        if let deathStep { life.dieBeforeStep(deathStep) }
        let commits = MortalCommits(life: life)
        database.add(transactionObserver: commits, extent: .observerLifetime)
        log.note("--- the process starts")
        let (forProvider, forEngine) = state.withLock { ($0.random.split(), $0.random.split()) }
        let provider = MortalProvider(
            provider, life: life, executor: executor, random: forProvider)
        let engine: Engine
        do throws(EngineError) {
            engine = try makeEngine(life, provider, Jitter(forEngine))
        } catch {
            life.die()
            database.remove(transactionObserver: commits)
            throw error
        }
        let work = Task(executorPreference: executor) { await engine.run() }
        state.withLock {
            $0.process = Process(
                engine: engine, life: life, commits: commits, provider: provider, work: work)
        }
    }

    private func makeEngine(
        _ life: SimulatedLife, _ provider: MortalProvider, _ jitter: Jitter
    ) throws(EngineError) -> Engine {
        try Engine(
            configuration: settings.engine, store: try Store(database),
            disk: MortalDisk(disk, life: life), clock: clock,
            provider: provider, logger: log.logger, random: { jitter.next() })
    }

    /// Ends the process as `kill -9` does, and returns once nothing of it is left.
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
        // A store is done with a request long before a new process asks anything of it.
        await process.provider.waitForRequests()
        database.remove(transactionObserver: process.commits)
    }

    /// Ends the process in order, as an unmount that does not wait for pending changes.
    package func stop() async {
        process.work.cancel()
        await process.work.value
        await kill()
    }

    // MARK: Coming to rest

    /// Ends all faults, and waits until all local changes are on the remote.
    ///
    /// - Parameter bound: How long that may take by the simulated clock.
    /// - Returns: Whether it came to rest.
    package func settle(within bound: Duration = .seconds(7_200)) async throws -> Bool {
        provider.setFaults(SimulatedProviderFaults())
        provider.setReachable(true)
        return try await waitForRest(within: bound)
    }

    /// Waits until nothing is pending, whatever fails meanwhile.
    package func waitForRest(within bound: Duration) async throws -> Bool {
        let deadline = clock.uptime + bound
        while clock.uptime < deadline {
            if try engine.status(below: .root, limit: 0).pending.count == 0 { return true }
            try await clock.sleep(until: clock.uptime + .milliseconds(500))
        }
        return false
    }
}

/// Random numbers for an engine that asks from anywhere.
private final class Jitter: Sendable {
    private let generator: Mutex<SeededGenerator>

    init(_ generator: SeededGenerator) {
        self.generator = Mutex(generator)
    }

    func next() -> UInt64 { generator.withLock { $0.next() } }
}
