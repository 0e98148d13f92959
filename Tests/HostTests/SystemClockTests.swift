import Engine
import Host
import Testing

@Suite struct SystemClockTests {
    private let clock = SystemClock()

    @Test func `sleeping ends no earlier than asked`() async throws {
        let instant = clock.uptime + .milliseconds(20)
        try await clock.sleep(until: instant)
        #expect(clock.uptime >= instant)
    }

    @Test func `sleeping until a past instant returns at once`() async throws {
        let before = clock.uptime
        try await clock.sleep(until: .zero)
        try await clock.sleep(until: before)
        #expect(clock.uptime - before < .seconds(30), "not even one nap")
    }

    @Test func `a cancelled sleep ends at once, even a very long one`() async throws {
        let clock = clock
        let sleeper = Task { try await clock.sleep(until: .seconds(Int64.max)) }
        sleeper.cancel()
        await #expect(throws: CancellationError.self) { try await sleeper.value }
        #expect(clock.uptime < .seconds(3_600))
    }

    @Test func `the wall clock is later than this test`() {
        #expect(clock.wallTime.seconds > 1_760_000_000)
    }
}
