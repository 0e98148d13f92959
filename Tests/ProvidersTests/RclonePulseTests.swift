import Engine
import Simulation
import Synchronization
import Testing

@testable import ProviderRclone
@testable import ProviderSupport

/// Processes are numbers that grow with each start; time is simulated.
@Suite("The pulse of rclone") struct RclonePulseTests {
    private typealias Pulse = RclonePulse<Int>

    private enum Answer {
        case none, late, now
    }

    /// Watches over one call that takes `duration`.
    ///
    /// - Parameter answer: What the n-th question gets, the first being 0.
    /// - Returns: When each process was killed, and how many questions were asked.
    private static func watch(
        for duration: Duration, restartsTo next: Int? = 2,
        _ answer: @escaping @Sendable (Int) -> Answer
    ) throws -> (kills: [Int: Duration], questions: Int) {
        let clock = SimulatedClock()
        let state = Mutex((process: 1 as Int?, kills: [Int: Duration](), questions: 0))
        try SeededExecutor(seed: 1, clock: clock).run {
            let pulse = Pulse(
                clock: clock, process: { state.withLock { $0.process } },
                isSilent: {
                    let number = state.withLock { state in
                        defer { state.questions += 1 }
                        return state.questions
                    }
                    switch answer(number) {
                    case .now: return false
                    case .late:
                        try? await clock.sleep(until: clock.uptime + Pulse.answerMax / 2)
                        return false
                    case .none:
                        try? await clock.sleep(until: clock.uptime + Pulse.answerMax)
                        return true
                    }
                },
                kill: { process in
                    state.withLock { state in
                        state.kills[process] = clock.uptime
                        state.process = next
                    }
                })
            async let _ = pulse.watch()
            try await clock.sleep(until: duration)
        }
        return state.withLock { ($0.kills, $0.questions) }
    }

    @Test func `a call that is answered soon causes no check`() throws {
        let seen = try Self.watch(for: Pulse.interval - .milliseconds(1)) { _ in .none }
        #expect(seen.kills.isEmpty && seen.questions == 0)
    }

    @Test func `an rclone that waits for a slow cloud lives, and is checked repeatedly`() throws {
        let seen = try Self.watch(for: .seconds(3_600)) { $0.isMultiple(of: 2) ? .now : .late }
        #expect(seen.kills.isEmpty && seen.questions > 200)
    }

    /// As when the machine slept.
    @Test func `an rclone that misses one check and answers the next lives`() throws {
        let seen = try Self.watch(for: .seconds(3_600)) { $0.isMultiple(of: 2) ? .none : .now }
        #expect(seen.kills.isEmpty && seen.questions > 200)
    }

    @Test func `an rclone that hangs is killed before a transfer counts as stalled`() throws {
        let seen = try Self.watch(for: .seconds(29)) { _ in .none }
        #expect(seen.kills.keys.sorted() == [1])
    }

    @Test func `an rclone that hangs again after its restart is killed again`() throws {
        let seen = try Self.watch(for: .seconds(100)) { _ in .none }
        #expect(seen.kills.keys.sorted() == [1, 2])
    }

    @Test func `nothing is checked while no rclone runs`() throws {
        let seen = try Self.watch(for: .seconds(3_600), restartsTo: nil) { _ in .none }
        #expect(seen.kills.keys.sorted() == [1] && seen.questions == Pulse.silencesMax)
    }
}
