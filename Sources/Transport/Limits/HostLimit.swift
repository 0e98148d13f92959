/// Decides how many requests of a kind run concurrently to one host, without clock or I/O: time is
/// an argument.
///
/// The limit doubles until a step has no effect, and from then on rises by its ``Pace`` while that
/// increases the throughput. It falls back after a step without effect, and is halved if the host refuses
/// requests as too many (429, 503) or lets them time out; timeouts alone leave it at the initial
/// limit. Throughput is measured in windows, and only while requests wait: otherwise the limit is not
/// the bottleneck.
///
/// While the limit doubles, the times of single requests may show sooner than a window that the host
/// takes more: twice as many that are answered in hardly more time are a higher throughput.
package struct HostLimit: Sendable {
    package struct Bounds: Hashable, Sendable {
        package var start: Int
        package var max: Int
        package var pace: Pace

        /// - Parameters: At least 1, and `start` at most `max`.
        package init(start: Int, max: Int, pace: Pace = .bodies) {
            precondition(1 <= start && start <= max)
            self.start = start
            self.max = max
            self.pace = pace
        }
    }

    /// How quickly a limit follows the host.
    package enum Pace: Hashable, Sendable {
        /// For requests that move many bytes, and need a while to show their throughput.
        case bodies
        /// For queries, of which many are answered in a short time.
        case queries

        /// The minimum time over which throughput is measured.
        var windowMin: Duration { self == .bodies ? .milliseconds(250) : .milliseconds(50) }
        /// How long the limit stays after a step without effect or a refusal.
        var pauseTime: Duration { self == .bodies ? .seconds(5) : .seconds(1) }

        /// Returns by how much a step raises a limit after the first one without effect.
        func step(from limit: Int) -> Int { max(1, self == .bodies ? limit / 2 : limit) }
    }

    /// The shortest ``Pace/windowMin``.
    static let windowMin = Pace.queries.windowMin
    /// A request that has not moved ``bytesPerStep`` for this time is slow.
    static let slowAfter: Duration = .seconds(5)
    static let bytesPerStep = 4 * 1024
    /// Further refusals within this time after one belong to the same burst.
    static let burst: Duration = .seconds(1)
    /// The weight of an answer in addition to its bytes, so that small requests count too.
    static let bytesPerAnswer: UInt64 = 64 * 1024
    /// The factor by which a step must increase the throughput to be kept; one that doubled the limit.
    static let gainMin = 1.1
    static let doublingGainMin = 1.25

    /// The answered requests that were sent after the last step.
    private struct Round {
        let start: Duration
        var answers = 0
        /// How long they took together.
        var time = Duration.zero

        mutating func note(from begin: Duration, to end: Duration) {
            guard begin >= start else { return }
            answers += 1
            time += end - begin
        }
    }

    private struct Window {
        var start: Duration
        var work: UInt64 = 0
        var answers = 0
        /// Whether requests have waited for a place.
        var isWaitedFor = false
    }

    private enum Phase {
        /// Nothing has been measured yet.
        case new
        /// The window after a step counts only in its favour: new connections start slowly.
        case warmingUp(from: Int)
        /// A step up is being measured.
        case trying(from: Int)
        case paused(until: Duration)
    }

    private(set) var current: Int
    private let bounds: Bounds
    private var window: Window
    private var phase = Phase.new
    /// Whether every step so far has increased the throughput.
    private var isStarting = true
    /// Throughput per second before the step that is being measured.
    private var rate = 0.0
    private var refusedAt: Duration?
    private var round: Round
    /// The mean time of a request in the quickest round.
    private var quickest: Duration?

    init(_ bounds: Bounds, now: Duration) {
        current = bounds.start
        self.bounds = bounds
        window = Window(start: now)
        round = Round(start: now)
    }

    /// Records that a request waits for a place.
    mutating func noteWaiting(at now: Duration) {
        guard !window.isWaitedFor else { return }
        // Before, the host may have been idle.
        window = Window(start: now, isWaitedFor: true)
    }

    mutating func noteBytes(_ bytes: UInt64) {
        window.work += bytes
    }

    /// - Parameter begin: When the request was sent.
    mutating func noteAnswer(isRefusal: Bool, from begin: Duration, at now: Duration) {
        guard !isRefusal else { return halve(downTo: 1, at: now) }
        window.work += Self.bytesPerAnswer
        window.answers += 1
        guard isStarting else { return }
        round.note(from: begin, to: now)
        stepEarly(at: now)
    }

    /// Doubles the limit if half of a round was answered, and took hardly longer than the quickest one.
    ///
    /// Places whose requests are not answered show nothing: those of the others must have filled a
    /// quarter of all.
    private mutating func stepEarly(at now: Duration) {
        guard window.isWaitedFor, round.answers * 2 >= current,
            round.time * 4 >= (now - round.start) * current
        else { return }
        let time = round.time / round.answers
        let least = min(quickest ?? time, time)
        quickest = least
        guard time > .zero, time * Self.doublingGainMin <= least * 2 else { return }
        rate = Double(window.work) / (max(now - window.start, time) / .seconds(1))
        window = Window(start: now)
        step(at: now)
    }

    /// Notes a request that was not answered in time, or a connection that was not accepted.
    mutating func noteTimeout(at now: Duration) {
        guard current > bounds.start else { return }
        halve(downTo: bounds.start, at: now)
    }

    private mutating func halve(downTo least: Int, at now: Duration) {
        if let refusedAt, now - refusedAt < Self.burst { return }
        refusedAt = now
        current = max(least, current / 2)
        pause(from: now)
    }

    /// Adjusts the limit if a window is complete.
    mutating func adjust(at now: Duration) {
        let time = now - window.start
        guard time >= bounds.pace.windowMin else { return }
        guard window.isWaitedFor else {
            window = Window(start: now)
            round = Round(start: now)
            return
        }
        guard
            window.answers >= current
                || window.work >= UInt64(current) * 16 * Self.bytesPerAnswer
        else { return }
        let found = Double(window.work) / (time / .seconds(1))
        window = Window(start: now)
        conclude(found, at: now)
    }

    private mutating func conclude(_ found: Double, at now: Duration) {
        let isGain = found >= rate * (isStarting ? Self.doublingGainMin : Self.gainMin)
        switch phase {
        case .new:
            rate = found
            step(at: now)
        case .warmingUp(let from):
            guard isStarting, isGain else {
                return phase = .trying(from: from)
            }
            rate = found
            step(at: now)
        case .trying(let from):
            if isGain {
                rate = found
                step(at: now)
            } else {
                current = from
                pause(from: now)
            }
        case .paused(let until):
            guard now >= until else { return }
            rate = found
            step(at: now)
        }
    }

    private mutating func step(at now: Duration) {
        guard current < bounds.max else { return pause(from: now) }
        phase = .warmingUp(from: current)
        let growth = isStarting ? current : bounds.pace.step(from: current)
        current = min(bounds.max, current + growth)
        round = Round(start: now)
    }

    private mutating func pause(from now: Duration) {
        isStarting = false
        phase = .paused(until: now + bounds.pace.pauseTime)
        window = Window(start: now)
    }
}
