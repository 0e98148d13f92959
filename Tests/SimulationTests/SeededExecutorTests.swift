import Engine
import Glibc
import Simulation
import Synchronization
import SystemCalls
import Testing

@Suite struct SeededExecutorTests {
    private let clock = SimulatedClock()

    @Test func `a seed determines the interleaving`() throws {
        var interleavings: Set<[String]> = []
        for seed in 0..<20 as Range<UInt64> {
            let (first, trace) = try Self.interleaving(seed: seed)
            let (second, traceAgain) = try Self.interleaving(seed: seed)
            #expect(first == second)
            #expect(trace == traceAgain)
            interleavings.insert(first)
        }
        #expect(interleavings.count == 20)
    }

    /// Five tasks of all kinds, each of which notes its steps, yields, sleeps and asks an actor.
    private static func interleaving(seed: UInt64) throws -> ([String], ExecutionTrace) {
        let clock = SimulatedClock()
        let executor = SeededExecutor(seed: seed, clock: clock)
        let log = Log()
        try executor.run {
            @Sendable func work(_ name: String) async throws {
                for step in 0..<4 {
                    await log.append("\(name)\(step)")
                    await Task.yield()
                    try await clock.sleep(until: clock.uptime + .milliseconds(step % 2))
                }
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for name in ["a", "b", "c"] { group.addTask { try await work(name) } }
                async let other: Void = work("d")
                try await Task(executorPreference: executor) { try await work("e") }.value
                try await other
                try await group.waitForAll()
            }
        }
        return (log.lines.withLock { $0 }, executor.trace)
    }

    @Test func `all tasks of the body run on the driving thread`() throws {
        let executor = SeededExecutor(seed: 1, clock: clock)
        let driver = pthread_self()
        let clock = clock
        let strangers = try executor.run {
            let log = Log()
            @Sendable func check() {
                if pthread_equal(driver, pthread_self()) == 0 { log.note("stranger") }
            }
            check()
            await log.append("from an actor")
            check()
            try await clock.sleep(until: .seconds(1))
            check()
            let (stream, source) = AsyncStream<Int>.makeStream()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    for await _ in stream { check() }
                }
                group.addTask {
                    for number in 0..<10 {
                        source.yield(number)
                        await Task.yield()
                        check()
                    }
                    source.finish()
                }
                try await group.waitForAll()
            }
            await withCheckedContinuation { continuation in
                _ = Task(executorPreference: executor) { continuation.resume() }
            }
            check()
            return log.lines.withLock { $0 }.filter { $0 == "stranger" }.count
        }
        #expect(strangers == 0)
    }

    @Test func `a simulated day takes no time`() throws {
        let clock = clock
        try SeededExecutor(seed: 1, clock: clock).run {
            for hour in 1...24 { try await clock.sleep(until: .seconds(hour * 3_600)) }
        }
        #expect(clock.uptime == .seconds(86_400))
    }

    @Test func `a deadlock is found`() throws {
        let executor = SeededExecutor(seed: 7, clock: clock)
        let error = #expect(throws: SimulationError.self) {
            try executor.run {
                let (stream, source) = AsyncStream<Void>.makeStream()
                await Task.yield()
                for await _ in stream {}
                source.finish()
            }
        }
        #expect(error?.kind == .deadlock)
        #expect(error?.seed == 7)
        #expect(error?.trace.lastSteps.isEmpty == false)
    }

    @Test func `an endless run is ended`() throws {
        let executor = SeededExecutor(seed: 7, clock: clock, stepsMax: 1_000)
        let error = #expect(throws: SimulationError.self) {
            try executor.run { while true { await Task.yield() } }
        }
        #expect(error?.kind == .endless)
    }

    @Test func `work that another thread resumes is found`() throws {
        let executor = SeededExecutor(seed: 7, clock: clock)
        let error = #expect(throws: SimulationError.self) {
            try executor.run {
                let suspended = Mutex<CheckedContinuation<Void, Never>?>(nil)
                async let resumption: Void = {
                    // Not nil once the other task has suspended: one of them runs at a time.
                    while true {
                        if let continuation = suspended.withLock(\.self) {
                            try WorkerThread(name: "stranger") { continuation.resume() }.join()
                            return
                        }
                        await Task.yield()
                    }
                }()
                await withCheckedContinuation { continuation in
                    suspended.withLock { $0 = continuation }
                }
                try await resumption
            }
        }
        #expect(error?.kind == .strayJob)
    }

    @Test func `errors of the body are rethrown`() throws {
        struct Refusal: Error {}
        let executor = SeededExecutor(seed: 1, clock: clock)
        #expect(throws: Refusal.self) { try executor.run { throw Refusal() } }
    }

    @Test func `driving to an instant does not wake later sleepers`() throws {
        let clock = clock
        let executor = SeededExecutor(seed: 1, clock: clock)
        let log = Log()
        let task = Task(executorPreference: executor) {
            for second in 1...3 {
                try await clock.sleep(until: .seconds(second))
                log.note("\(second)")
            }
        }
        try executor.run(until: .milliseconds(2_500))
        #expect(log.lines.withLock { $0 } == ["1", "2"])
        #expect(clock.uptime == .milliseconds(2_500))
        try executor.run { _ = await task.result }
        #expect(log.lines.withLock { $0 } == ["1", "2", "3"])
    }
}

/// Lines in the order in which they came, by way of an actor or straight.
private final actor Log {
    nonisolated let lines = Mutex<[String]>([])

    func append(_ line: String) {
        note(line)
    }

    nonisolated func note(_ line: String) {
        lines.withLock { $0.append(line) }
    }
}
