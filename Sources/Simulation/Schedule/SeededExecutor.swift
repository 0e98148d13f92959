import Engine
import Glibc
import Synchronization

/// Runs tasks one at a time, on the thread that calls ``run(_:)``, in an order that a seed decides.
///
/// It picks one of the ready jobs at random; if none is ready, it moves the clock to the next
/// sleeper. So a run explores one possible interleaving of threads, without waiting, and the seed
/// replays it.
///
/// Task groups, `async let`, tasks made with `Task(executorPreference:)` and resumed continuations
/// run here. Not supported: `Task {}` and `Task.detached`, which run in Swift's own pool; the main
/// actor; callbacks from other threads. A job from another thread ends the run with an error, as
/// its moment would not replay.
package final class SeededExecutor: TaskExecutor {
    fileprivate struct State {
        var generator: SeededGenerator
        var ready: [UnownedJob] = []
        /// The driving thread; `nil` between runs.
        var driver: pthread_t?
        var hasStrayed = false
        var trace = ExecutionTrace()
        /// The runtime's job identifiers differ from run to run; the order of their first steps
        /// does not.
        var ordinals: [String: Int] = [:]
    }

    package let seed: UInt64
    package let clock: SimulatedClock
    private let stepsMax: Int
    private let state: Mutex<State>

    /// - Parameter stepsMax: The number of jobs after which a run counts as endless, for example
    /// because of a retry without a delay.
    package init(seed: UInt64, clock: SimulatedClock, stepsMax: Int = 10_000_000) {
        self.seed = seed
        self.clock = clock
        self.stepsMax = stepsMax
        state = Mutex(State(generator: SeededGenerator(seed: seed)))
    }

    /// The interleaving so far. Two runs of one seed have equal traces.
    package var trace: ExecutionTrace { state.withLock { $0.trace } }

    /// Called by Swift's runtime.
    package func enqueue(_ job: consuming ExecutorJob) {
        let unowned = UnownedJob(job)
        state.withLock { state in
            if let driver = state.driver, pthread_equal(driver, pthread_self()) == 0 {
                state.hasStrayed = true
            }
            state.ready.append(unowned)
        }
    }
}

// MARK: - Driving

extension SeededExecutor {
    /// Runs `body` and all tasks that it starts until `body` returns. Unfinished tasks continue in
    /// the next run or, as after a crash, never.
    ///
    /// - Throws: Errors of `body`; ``SimulationError``.
    package func run<Success: Sendable>(
        _ body: @escaping @Sendable () async throws -> Success
    ) throws -> Success {
        let outcome = Outcome<Success>()
        try drive {
            Task(executorPreference: self) { await outcome.record(body) }
            while outcome.result == nil {
                if try runOne() { continue }
                guard let instant = clock.nextWake else { throw error(.deadlock) }
                clock.advance(to: instant)
            }
        }
        guard let result = outcome.result else {
            preconditionFailure("the loop above ends with a result")
        }
        return try result.get()
    }

    /// Runs all due jobs until ``SimulatedClock/uptime`` is `instant`.
    ///
    /// - Throws: ``SimulationError`` except `.deadlock`, as nothing has to finish by then.
    package func run(until instant: Duration) throws {
        try drive {
            while true {
                if try runOne() { continue }
                guard let wake = clock.nextWake, wake <= instant else { break }
                clock.advance(to: wake)
            }
            clock.advance(to: instant)
        }
    }

    private func drive(_ body: () throws -> Void) rethrows {
        state.withLock { state in
            precondition(state.driver == nil, "one thread at a time drives an executor")
            state.driver = pthread_self()
        }
        defer { state.withLock { $0.driver = nil } }
        try body()
    }

    /// - Returns: Whether there was a job to run.
    private func runOne() throws(SimulationError) -> Bool {
        let (hasStrayed, steps) = state.withLock { ($0.hasStrayed, $0.trace.stepCount) }
        if hasStrayed { throw error(.strayJob) }
        if steps >= stepsMax { throw error(.endless) }
        let uptime = clock.uptime
        guard let job = state.withLock({ $0.pick(at: uptime) }) else { return false }
        job.runSynchronously(on: asUnownedTaskExecutor())
        return true
    }

    private func error(_ kind: SimulationError.Kind) -> SimulationError {
        SimulationError(kind: kind, seed: seed, trace: trace)
    }
}

extension SeededExecutor.State {
    fileprivate mutating func pick(at uptime: Duration) -> UnownedJob? {
        if ready.isEmpty { return nil }
        let index = generator.next(below: ready.count)
        let name = String(describing: ready[index])
        let ordinal = ordinals[name] ?? ordinals.count
        ordinals[name] = ordinal
        trace.append(.init(uptime: uptime, job: ordinal, readyCount: ready.count))
        ready.swapAt(index, ready.count - 1)
        return ready.removeLast()
    }
}

/// The result of a task, for the driving thread.
private final class Outcome<Success: Sendable>: Sendable {
    private let state = Mutex<Result<Success, any Error>?>(nil)

    var result: Result<Success, any Error>? { state.withLock { $0 } }

    func record(_ body: @Sendable () async throws -> Success) async {
        let result: Result<Success, any Error>
        do {
            result = .success(try await body())
        } catch {
            result = .failure(error)
        }
        state.withLock { $0 = result }
    }
}
