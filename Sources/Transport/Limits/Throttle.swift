import Meters

/// A transfer that a ``Throttle`` may pause.
protocol Throttled: AnyObject {
    var isLimited: Bool { get }
    /// Whether a program waits for a short answer.
    var isUrgent: Bool { get }
}

/// Keeps all transfers together to the ``Bandwidth``. Used only by the transport's thread.
///
/// A transfer that may not move bytes is paused, and waits here for its turn. Short answers are more
/// urgent: they pause only if much more than the limit has moved, so that a download does not hold up
/// programs that look at folders.
final class Throttle<Waiting: Throttled> {
    typealias Direction = TransportMeter.Direction

    private struct Side {
        var bucket: TokenBucket?
        /// Paused transfers, first come first served.
        var waiting: [Waiting] = []
    }

    private var sides = [Side(), Side()]
    private let clock: @Sendable () -> ContinuousClock.Instant
    private let start: ContinuousClock.Instant
    private let meter: TransportMeter

    private static var urgentDebtMax: Duration { .seconds(1) }

    init(_ clock: @escaping @Sendable () -> ContinuousClock.Instant, meter: TransportMeter) {
        self.clock = clock
        self.meter = meter
        start = clock()
    }

    private var uptime: Duration { clock() - start }

    /// - Returns: The paused transfers, which may move bytes again.
    func limit(to bandwidth: Bandwidth) -> [Waiting] {
        let now = uptime
        sides[Direction.up.rawValue].bucket = bandwidth.up.map {
            .init(bytesPerSecond: $0, at: now)
        }
        sides[Direction.down.rawValue].bucket =
            bandwidth.down.map { .init(bytesPerSecond: $0, at: now) }
        return sides.indices.flatMap { index in
            let waiting = sides[index].waiting
            sides[index].waiting = []
            return waiting
        }
    }

    /// Returns whether a transfer may move bytes now. If not, it must pause, and is among
    /// ``takeDue()`` later.
    func admits(_ waiter: Waiting, _ direction: Direction) -> Bool {
        guard waiter.isLimited, sides[direction.rawValue].bucket != nil else { return true }
        let now = uptime
        if opening(direction, isUrgent: waiter.isUrgent, at: now) <= now { return true }
        if !isWaiting(waiter, direction) {
            let waiting = sides[direction.rawValue].waiting
            let index = waiter.isUrgent ? 0 : waiting.count
            sides[direction.rawValue].waiting.insert(waiter, at: index)
        }
        return false
    }

    func note(_ bytes: Int, _ direction: Direction, of waiter: Waiting) {
        meter.bytes(direction).add(bytes)
        charge(bytes, direction, of: waiter)
    }

    /// Notes bytes that are no part of a body.
    func charge(_ bytes: Int, _ direction: Direction, of waiter: Waiting) {
        guard waiter.isLimited, sides[direction.rawValue].bucket != nil else { return }
        sides[direction.rawValue].bucket?.take(bytes, at: uptime)
    }

    func isWaiting(_ waiter: Waiting) -> Bool {
        isWaiting(waiter, .up) || isWaiting(waiter, .down)
    }

    /// Drops a transfer that has ended.
    func remove(_ waiter: Waiting) {
        for index in sides.indices where !sides[index].waiting.isEmpty {
            sides[index].waiting.removeAll { $0 === waiter }
        }
    }

    /// Removes and returns a transfer that may move bytes again; nil if none may yet.
    func takeDue() -> Waiting? {
        let now = uptime
        for direction in [Direction.up, .down] where opening(direction, at: now) <= now {
            if !sides[direction.rawValue].waiting.isEmpty {
                return sides[direction.rawValue].waiting.removeFirst()
            }
        }
        return nil
    }

    /// How long no paused transfer may move bytes; nil if none is paused.
    var timeToDue: Duration? {
        let now = uptime
        return [Direction.up, .down].filter { !sides[$0.rawValue].waiting.isEmpty }
            .map { opening($0, at: now) - now }.min()
    }

    private func opening(
        _ direction: Direction, isUrgent: Bool = false, at now: Duration
    ) -> Duration {
        sides[direction.rawValue].bucket?.opening(
            at: now, debtMax: isUrgent ? Self.urgentDebtMax : .zero) ?? now
    }

    private func isWaiting(_ waiter: Waiting, _ direction: Direction) -> Bool {
        sides[direction.rawValue].waiting.contains { $0 === waiter }
    }
}
