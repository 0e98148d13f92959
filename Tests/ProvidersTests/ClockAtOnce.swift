import Engine
import Synchronization

/// A clock on which no time is wasted: a sleep sets the time and returns.
final class ClockAtOnce: Clock {
    private let now = Mutex(Duration.zero)

    var wallTime: Timestamp { Timestamp(seconds: uptime.components.seconds) }

    var uptime: Duration { now.withLock { $0 } }

    func advance(by duration: Duration) { now.withLock { $0 += duration } }

    func sleep(until instant: Duration) async throws {
        try Task.checkCancellation()
        now.withLock { $0 = max($0, instant) }
    }
}
