package import Engine
import Glibc

/// This machine's time.
///
/// ``uptime`` starts when the clock is made and counts suspended time too (`CLOCK_BOOTTIME`), so
/// that a laptop that wakes up does at once what fell due while it slept.
package struct SystemClock: Clock {
    /// The runtime's timers take no instant however far away: a long sleep is several short ones.
    private static let napMax: Duration = .seconds(86_400)

    private let start = ContinuousClock.now

    package init() {}

    /// POSIX: `clock_gettime` with `CLOCK_REALTIME`.
    package var wallTime: Timestamp {
        var time = timespec()
        let result = clock_gettime(CLOCK_REALTIME, &time)
        precondition(result == 0, "Linux always has CLOCK_REALTIME")
        return Timestamp(seconds: Int64(time.tv_sec), nanoseconds: Int64(time.tv_nsec))
    }

    package var uptime: Duration { start.duration(to: .now) }

    package func sleep(until instant: Duration) async throws {
        try Task.checkCancellation()
        while case let now = uptime, now < instant {
            let nap = min(instant - now, Self.napMax)
            try await Task.sleep(until: start.advanced(by: now + nap), clock: .continuous)
        }
    }
}
