/// Decides which bytes of an open file its readers need, from their requests. Has no clock: time is
/// an argument.
struct ReadPositions {
    private struct Position {
        /// The range read so far, if in order.
        var start: UInt64
        var end: UInt64
        var time: Duration
    }

    /// How many readers of a file are told apart.
    private static let positionsMax = 8
    private static let awaitedMax = 256
    /// How far apart consecutive requests of one reader may be: the kernel sends several at a time,
    /// which arrive in any order.
    private static let gapMax: UInt64 = 4 << 20
    /// A reader that has asked for nothing for so long is idle.
    private static let age: Duration = .seconds(10)

    private var positions: [Position] = []
    private var awaited: [(range: Range<UInt64>, time: Duration)] = []
    private var served: [Range<UInt64>] = []

    /// The time of the last read.
    var lastRead: Duration { positions.map(\.time).max() ?? .zero }

    /// The end of the last read; 0 before the first.
    var position: UInt64 { positions.max { $0.time < $1.time }?.end ?? 0 }

    /// Records a read that is answered now.
    mutating func note(_ range: Range<UInt64>, at now: Duration) {
        awaited.removeAll { $0.range.overlaps(range) }
        let known = positions.firstIndex { position in
            range.lowerBound + Self.gapMax >= position.end
                && range.lowerBound <= position.end + Self.gapMax
        }
        if let known {
            positions[known].end = max(positions[known].end, range.upperBound)
            positions[known].time = now
            return
        }
        if positions.count == Self.positionsMax,
            let oldest = positions.indices.min(by: { positions[$0].time < positions[$1].time })
        {
            positions.remove(at: oldest)
        }
        positions.append(Position(start: range.lowerBound, end: range.upperBound, time: now))
    }

    /// Records that a request waits for a range: it is kept until it is read, or for a while.
    mutating func expect(_ range: Range<UInt64>, at now: Duration) {
        awaited.removeAll { $0.range == range || now - $0.time > Self.age }
        if awaited.count == Self.awaitedMax { awaited.removeFirst() }
        awaited.append((range, now))
    }

    /// Records that bytes are on their way to a program, until ``endServing(_:)``.
    mutating func beginServing(_ range: Range<UInt64>) { served.append(range) }

    mutating func endServing(_ range: Range<UInt64>) {
        if let index = served.firstIndex(of: range) { served.remove(at: index) }
    }

    /// How many bytes after ``position`` its reader is likely to need: up to `window`, and no more
    /// than it has read in order.
    func readahead(window: UInt64) -> UInt64 {
        guard let last = positions.max(by: { $0.time < $1.time }) else { return window }
        return min(window, 2 * (last.end - last.start))
    }

    /// Returns the ranges in use.
    ///
    /// - Parameters:
    ///   - trail: The bytes kept behind each reader that is not idle.
    ///   - window: The bytes kept ahead of it; nil to keep only what requests wait for.
    func inUse(trail: UInt64, window: UInt64?, at now: Duration) -> [Range<UInt64>] {
        let waiting = awaited.filter { now - $0.time <= Self.age }.map(\.range) + served
        guard let window else { return waiting }
        return waiting
            + positions.filter { now - $0.time <= Self.age }.map { position -> Range<UInt64> in
                let read = position.end - position.start
                let ahead = min(window, max(2 * read, 1 << 20))
                return position.end - min(read, trail)..<position.end + ahead
            }
    }
}
