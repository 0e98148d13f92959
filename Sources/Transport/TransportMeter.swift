package import Meters
import Synchronization

/// Measures the requests of one transport.
package final class TransportMeter: Sendable {
    enum Direction: Int {
        case up, down
    }

    /// A kind of request with its result.
    package struct Answered: Hashable, Sendable {
        package let method: String
        /// nil if there was no complete answer.
        package let status: Int?
    }

    /// The bytes of bodies and of the headers of answers.
    package let received = Counter()
    /// The bytes of bodies.
    package let sent = Counter()
    private let requests = Mutex<[Answered: UInt64]>([:])
    private let durations = Mutex<[String: Histogram]>([:])

    package init() {}

    func bytes(_ direction: Direction) -> Counter {
        direction == .up ? sent : received
    }

    func note(_ method: HTTPMethod, status: Int?, after time: Duration) {
        requests.withLock { requests in
            requests[Answered(method: method.rawValue, status: status), default: 0] += 1
        }
        durations.withLock { durations in
            let known = durations[method.rawValue] ?? Histogram()
            durations[method.rawValue] = known
            return known
        }.record(time)
    }

    /// The numbers of finished requests.
    package var counts: [(answered: Answered, count: UInt64)] {
        requests.withLock { $0 }
            .sorted { ($0.key.method, $0.key.status ?? 0) < ($1.key.method, $1.key.status ?? 0) }
            .map { ($0.key, $0.value) }
    }

    /// The durations of requests, with the wait for their turn.
    package var snapshots: [(method: String, durations: Histogram.Snapshot)] {
        durations.withLock { $0 }.sorted { $0.key < $1.key }.map { ($0.key, $0.value.snapshot) }
    }
}
