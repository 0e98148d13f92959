import Host
import Synchronization

/// The time between the reports of a stream, of which others are left out.
final class StreamPace: Sendable {
    private let clock = SystemClock()
    private let next: Mutex<Duration>

    /// - Parameter delay: The time until the first report.
    init(delay: Duration = MountedEngine.reportInterval) {
        next = Mutex(clock.uptime + delay)
    }

    /// Whether it is time for a report; the next one is due later then.
    func isDue() -> Bool {
        next.withLock { next in
            let now = clock.uptime
            guard now >= next else { return false }
            next = now + MountedEngine.reportInterval
            return true
        }
    }
}
