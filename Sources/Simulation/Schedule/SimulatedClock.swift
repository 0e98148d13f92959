package import Engine
import Synchronization

/// A clock that stands still until it is moved.
///
/// The driver of a run, usually a ``SeededExecutor``, moves it from sleeper to sleeper, so that a
/// simulated day takes no longer than its work.
package final class SimulatedClock: Clock {
    private struct Sleeper {
        let instant: Duration
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct State {
        var uptime: Duration = .zero
        var wallAtStart: Timestamp
        /// By the order of registration.
        var sleepers: [UInt64: Sleeper] = [:]
        var sleepersRegistered: UInt64 = 0

        /// Removes and returns the due sleepers, by time and then by registration.
        mutating func takeDue() -> [Sleeper] {
            let due = sleepers.filter { $0.value.instant <= uptime }
                .sorted { ($0.value.instant, $0.key) < ($1.value.instant, $1.key) }
            for (key, _) in due { sleepers[key] = nil }
            return due.map(\.value)
        }
    }

    private let state: Mutex<State>

    /// - Parameter start: The time of day when ``uptime`` is zero.
    package init(start: Timestamp = Timestamp(seconds: 1_767_225_600)) {
        state = Mutex(State(wallAtStart: start))
    }

    package var uptime: Duration { state.withLock { $0.uptime } }

    package var wallTime: Timestamp {
        state.withLock { $0.wallAtStart.advanced(by: $0.uptime) }
    }

    package func sleep(until instant: Duration) async throws {
        try Task.checkCancellation()
        let ticket: UInt64? = state.withLock { state in
            if instant <= state.uptime { return nil }
            state.sleepersRegistered += 1
            return state.sleepersRegistered
        }
        guard let ticket else { return }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                state.withLock {
                    $0.sleepers[ticket] = Sleeper(instant: instant, continuation: continuation)
                }
                // The handler may have run before the sleeper was registered.
                if Task.isCancelled { cancel(ticket) }
            }
        } onCancel: {
            cancel(ticket)
        }
    }

    private func cancel(_ ticket: UInt64) {
        let sleeper = state.withLock { $0.sleepers.removeValue(forKey: ticket) }
        sleeper?.continuation.resume(throwing: CancellationError())
    }
}

// MARK: - Moving time

extension SimulatedClock {
    /// The time of the next sleeper, if there is one.
    package var nextWake: Duration? {
        state.withLock { $0.sleepers.values.map(\.instant).min() }
    }

    /// Moves ``uptime`` and the time of day forward to `instant` and wakes all due sleepers. An
    /// instant in the past changes nothing.
    package func advance(to instant: Duration) {
        let due = state.withLock { state in
            state.uptime = max(state.uptime, instant)
            return state.takeDue()
        }
        for sleeper in due { sleeper.continuation.resume() }
    }

    package func advance(by duration: Duration) {
        advance(to: uptime + duration)
    }

    /// Changes only the time of day, in either direction, like an administrator or NTP.
    package func jumpWall(by duration: Duration) {
        state.withLock { $0.wallAtStart = $0.wallAtStart.advanced(by: duration) }
    }
}

extension Timestamp {
    fileprivate func advanced(by duration: Duration) -> Timestamp {
        let (seconds, attoseconds) = duration.components
        return Timestamp(
            seconds: self.seconds + seconds,
            nanoseconds: nanosecondsOfSecond + attoseconds / 1_000_000_000)
    }
}
