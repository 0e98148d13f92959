import CLinux
package import Engine
import Glibc

/// This machine's clock.
///
/// ``uptime`` starts at 0 when the clock is made, and includes the time that the machine is suspended
/// (`CLOCK_BOOTTIME`).
package struct SystemClock: Clock {
    /// The longest single sleep; a longer one is split. The underlying timers may stop while the
    /// machine is suspended, and cannot be set to a very distant instant. After a laptop wakes, work that
    /// fell due meanwhile starts within this time.
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
