import Engine
import Simulation
import Testing

@Suite struct SimulatedClockTests {
    private let clock = SimulatedClock(start: Timestamp(seconds: 1_000))

    @Test func `both times move together, and only when moved`() {
        #expect(clock.uptime == .zero)
        clock.advance(by: .milliseconds(1_500))
        #expect(clock.uptime == .milliseconds(1_500))
        #expect(clock.wallTime == Timestamp(seconds: 1_001, nanoseconds: 500_000_000))
    }

    @Test func `uptime never goes back, and the time of day may`() {
        clock.advance(to: .seconds(10))
        clock.advance(to: .seconds(5))
        clock.jumpWall(by: .seconds(-3_600))
        #expect(clock.uptime == .seconds(10))
        #expect(clock.wallTime == Timestamp(seconds: -2_590))
    }

    @Test func `sleepers wake by time, and only then`() throws {
        let clock = clock
        let woken = try SeededExecutor(seed: 3, clock: clock).run {
            try await withThrowingTaskGroup(of: Int.self) { group in
                for seconds in [5, 1, 4, 2, 3] {
                    group.addTask {
                        try await clock.sleep(until: .seconds(seconds))
                        #expect(clock.uptime == .seconds(seconds))
                        return seconds
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
        }
        #expect(woken == [1, 2, 3, 4, 5])
        #expect(clock.nextWake == nil)
    }

    @Test func `a cancelled sleeper wakes at once`() throws {
        let clock = clock
        let executor = SeededExecutor(seed: 3, clock: clock)
        try executor.run {
            let sleeper = Task(executorPreference: executor) {
                try await clock.sleep(until: .seconds(60))
            }
            while clock.nextWake == nil { await Task.yield() }
            sleeper.cancel()
            await #expect(throws: CancellationError.self) { try await sleeper.value }
        }
        #expect(clock.uptime == .zero)
        #expect(clock.nextWake == nil)
    }

    @Test func `a cancelled task does not sleep`() throws {
        let clock = clock
        let executor = SeededExecutor(seed: 3, clock: clock)
        try executor.run {
            let sleeper = Task(executorPreference: executor) {
                try await clock.sleep(until: .seconds(60))
            }
            sleeper.cancel()
            await #expect(throws: CancellationError.self) { try await sleeper.value }
        }
    }
}
