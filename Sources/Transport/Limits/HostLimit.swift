/// Decides how many requests of a kind run side by side to one host, without clock or I/O: time is
/// an argument.
///
/// It tries more for as long as more gets done, goes back where a step brought nothing, and halves
/// when the host asks to be left alone (429, 503). What gets done is counted in windows, and only
/// while somebody waits: else the limit is not what holds us back.
package struct HostLimit: Sendable {
    package struct Bounds: Hashable, Sendable {
        package var start: Int
        package var max: Int

        /// - Parameters: Both at least 1, `start` no more than `max`.
        package init(start: Int, max: Int) {
            precondition(1 <= start && start <= max)
            self.start = start
            self.max = max
        }
    }

    static let windowMin: Duration = .milliseconds(250)
    /// A request that has not moved ``bytesPerStep`` within so long stands still: one that only
    /// trickles is worth no place either.
    static let standstill: Duration = .seconds(5)
    static let bytesPerStep = 4 * 1024
    /// How long nothing more is tried after it brought nothing, or was refused.
    static let pause: Duration = .seconds(5)
    /// Refusals within this time after one that counted are of the same crowd.
    static let crowd: Duration = .seconds(1)
    /// What an answer is worth beside its bytes, so that small requests count too.
    static let bytesPerAnswer: UInt64 = 64 * 1024
    /// By how much more has to get done for a step to be worth it.
    static let worthwhile = 1.1

    private struct Window {
        var start: Duration
        var work: UInt64 = 0
        var answers = 0
        var isWaitedFor = false
    }

    private enum Phase {
        /// Nothing is known of this limit yet.
        case new
        /// A window passes by before the one that counts: new connections start slowly.
        case settling(from: Int)
        /// A step up from a limit is being tried.
        case trying(from: Int)
        case resting(until: Duration)
    }

    private(set) var current: Int
    private let max: Int
    private var window: Window
    private var phase = Phase.new
    /// What got done in a second before the step that is being tried.
    private var rate = 0.0
    private var refusedAt: Duration?

    init(_ bounds: Bounds, now: Duration) {
        current = bounds.start
        max = bounds.max
        window = Window(start: now)
    }

    /// Somebody waits for a place.
    mutating func noteWaiting() {
        window.isWaitedFor = true
    }

    /// Bytes went out or came in.
    mutating func noteBytes(_ bytes: UInt64) {
        window.work += bytes
    }

    /// A request has been answered.
    mutating func noteAnswer(isRefusal: Bool, at now: Duration) {
        guard isRefusal else {
            window.work += Self.bytesPerAnswer
            window.answers += 1
            return
        }
        if let refusedAt, now - refusedAt < Self.crowd { return }
        refusedAt = now
        current = Swift.max(1, current / 2)
        rest(from: now)
    }

    /// Draws the conclusions once a window is over.
    mutating func judge(at now: Duration) {
        guard now - window.start >= Self.windowMin else { return }
        guard window.isWaitedFor else { return window = Window(start: now) }
        let isTelling =
            window.answers >= current || window.work >= UInt64(current) * 16 * Self.bytesPerAnswer
        guard isTelling else { return }
        let found = Double(window.work) / ((now - window.start) / .seconds(1))
        window = Window(start: now)
        conclude(found, at: now)
    }

    private mutating func conclude(_ found: Double, at now: Duration) {
        switch phase {
        case .new:
            rate = found
            step(at: now)
        case .settling(let from):
            phase = .trying(from: from)
        case .trying(let from):
            if found >= rate * Self.worthwhile {
                rate = found
                step(at: now)
            } else {
                current = from
                rest(from: now)
            }
        case .resting(let until):
            guard now >= until else { return }
            rate = found
            step(at: now)
        }
    }

    private mutating func step(at now: Duration) {
        guard current < max else { return rest(from: now) }
        phase = .settling(from: current)
        current = Swift.min(max, current + Swift.max(1, current / 2))
    }

    private mutating func rest(from now: Duration) {
        phase = .resting(until: now + Self.pause)
        window = Window(start: now)
    }
}
