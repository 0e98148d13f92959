package import Engine
import Glibc

/// This machine's time.
///
/// ``uptime`` starts when the clock is created and includes the time for which the machine was
/// suspended (`CLOCK_BOOTTIME`).
package struct SystemClock: Clock {
    /// The maximum length of one sleep; a longer one is divided.
    ///
    /// The system's timers may stop while the machine is suspended, and cannot be set to any
    /// instant. This is how late overdue work starts after a laptop wakes up.
    private static let napMax: Duration = .seconds(60)

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
