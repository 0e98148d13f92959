/// Decides which bytes of an open file its readers need, from their requests. Has no clock: time is
/// an argument.
///
/// A reader that reads most bytes of a range is sequential: bytes are fetched ahead of it, as many as
/// it has read several times over, at most those of two seconds at its own pace. One with equal steps
/// is strided: its next steps are fetched. For any other, nothing is fetched ahead.
struct ReadPositions {
    private struct Position {
        /// The range read so far, if in order.
        var start: UInt64
        var end: UInt64
        var time: Duration
        /// The bytes and requests read in it.
        var bytesRead: UInt64
        var requests = 1
        var pace = ReadPace()

        /// - Parameter evidence: The bytes that a reader must have read to count as sequential.
        func isSequential(_ evidence: UInt64) -> Bool {
            bytesRead >= evidence && (start == 0 || requests > 1) && 2 * bytesRead >= end - start
        }

        /// How many bytes after ``end`` its reader is likely to need.
        func window(_ evidence: UInt64, max windowMax: UInt64) -> UInt64 {
            guard isSequential(evidence) else { return 0 }
            let paced = max(pace.bytes(in: .seconds(2)) ?? .max, ReadPositions.pacedBytesMin)
            return min(windowMax, trustedBytes, paced)
        }

        /// The more a reader has read from the start of a file, the likelier it goes on to the end.
        private var trustedBytes: UInt64 {
            guard start == 0 else { return 4 * bytesRead }
            // The kernel's own read-ahead may have read most of it.
            if bytesRead < ReadPositions.doubtedBytes { return 2 * bytesRead }
            return 32 * bytesRead
        }
    }

    /// Fewer bytes than these, read in order, may be the head of a file that is not needed as a whole, and
    /// a program may have asked for a quarter of them.
    private static let doubtedBytes: UInt64 = 256 << 10
    /// The bytes fetched ahead even of a slow reader.
    private static let pacedBytesMin: UInt64 = 4 << 20
    /// A reader that neither reads nor waits for so long gets no more bytes ahead of it.
    private static let pause: Duration = .milliseconds(500)

    /// How many readers of a file are told apart.
    private static let positionsMax = 8
    private static let awaitedMax = 256
    /// How far apart consecutive requests of one reader may be: the kernel sends several at a time,
    /// which arrive in any order.
    private static let gapMax: UInt64 = 4 << 20
    /// A reader that has asked for nothing for so long is idle.
    private static let age: Duration = .seconds(10)

    /// The bytes that a reader must have read before it can count as sequential.
    private let evidenceBytes: UInt64
    private var positions: [Position] = []
    private var awaited: [(range: Range<UInt64>, time: Duration)] = []
    private var served: [Range<UInt64>] = []
    private var stride = ReadStride()
    /// The last reads that all waited for bytes: those fetched together with others were of no use.
    private var waitsInRow = 0

    init(evidenceBytes: UInt64 = 64 << 10) {
        self.evidenceBytes = evidenceBytes
    }

    /// The time of the last read.
    var lastRead: Duration { positions.map(\.time).max() ?? .zero }

    /// The end of the last read; 0 before the first.
    var position: UInt64 { positions.max { $0.time < $1.time }?.end ?? 0 }

    private var last: Position? { positions.max { $0.time < $1.time } }

    /// Whether nothing was read yet.
    var isUnread: Bool { positions.isEmpty }

    /// Whether the last reader goes on to the end of the file, as far as is known.
    var isSteady: Bool { last?.isSequential(16 * evidenceBytes) ?? false }

    /// Whether a range continues what a sequential reader has read.
    func continues(_ range: Range<UInt64>) -> Bool {
        positions.contains { $0.isSequential(evidenceBytes) && Self.isNear(range, $0) }
    }

    /// Returns how many bytes to fetch for a request here and there: half as many after each eight that
    /// nothing was fetched for before, down to an eighth.
    func randomBytes(_ range: Range<UInt64>, max: UInt64) -> UInt64 {
        continues(range) ? max : max >> UInt64(min(waitsInRow / 8, 3))
    }

    private static func isNear(_ range: Range<UInt64>, _ position: Position) -> Bool {
        range.lowerBound + gapMax >= position.end && range.lowerBound <= position.end + gapMax
    }

    /// Records a read that is answered now.
    mutating func note(_ range: Range<UInt64>, at now: Duration) {
        stride.note(range)
        let known = positions.firstIndex { Self.isNear(range, $0) }
        let hasWaited = awaited.contains { wait in
            wait.range.overlaps(range)
                || known.map { Self.isNear(wait.range, positions[$0]) } ?? false
        }
        let isMiss = awaited.contains { $0.range.overlaps(range) }
        waitsInRow = isMiss ? waitsInRow + 1 : 0
        awaited.removeAll { $0.range.overlaps(range) }
        if let known {
            let bytes = UInt64(range.count)
            positions[known].pace.note(
                bytes, after: hasWaited ? .zero : now - positions[known].time)
            positions[known].start = min(positions[known].start, range.lowerBound)
            positions[known].end = max(positions[known].end, range.upperBound)
            positions[known].bytesRead += bytes
            positions[known].requests += 1
            positions[known].time = now
            return
        }
        if positions.count == Self.positionsMax,
            let oldest = positions.indices.min(by: { positions[$0].time < positions[$1].time })
        {
            positions.remove(at: oldest)
        }
        positions.append(
            Position(
                start: range.lowerBound, end: range.upperBound, time: now,
                bytesRead: UInt64(range.count)))
    }

    /// Records that a request waits for a range: it is kept until it is read, or for a while.
    mutating func expect(_ range: Range<UInt64>, at now: Duration) {
        awaited.removeAll { $0.range == range || now - $0.time > Self.age }
        if awaited.count == Self.awaitedMax { awaited.removeFirst() }
        awaited.append((range, now))
    }

    /// Records that a request does not wait for a range any more.
    mutating func endExpecting(_ range: Range<UInt64>) {
        if let index = awaited.firstIndex(where: { $0.range == range }) {
            awaited.remove(at: index)
        }
    }

    /// Records that bytes are on their way to a program, until ``endServing(_:)``.
    mutating func beginServing(_ range: Range<UInt64>) { served.append(range) }

    mutating func endServing(_ range: Range<UInt64>) {
        if let index = served.firstIndex(of: range) { served.remove(at: index) }
    }

    /// Returns the ranges to fetch ahead of readers, those of the last reader first.
    ///
    /// - Parameter windowMax: The most bytes ahead of one reader.
    func ahead(windowMax: UInt64, at now: Duration) -> [Range<UInt64>] {
        let active = positions.sorted { $0.time > $1.time }.filter { isActive($0, at: now) }
        let windows = active.map { $0.end..<$0.end + $0.window(evidenceBytes, max: windowMax) }
        return windows.filter { !$0.isEmpty } + stride.next(bytesMax: windowMax)
    }

    /// Whether the bytes of a range are likely to be needed: requests wait for them, or no reader has
    /// gone elsewhere since. Whatever ``ahead(windowMax:at:)`` returns is wanted.
    func wants(_ range: Range<UInt64>, windowMax: UInt64) -> Bool {
        guard let last else { return true }
        let isNearReader = positions.contains { position in
            // While none of them reads, all of them pause.
            isActive(position, at: last.time) && range.upperBound >= position.start
                && range.lowerBound <= position.end + windowMax + Self.gapMax
        }
        return isNearReader || awaited.contains { $0.range.overlaps(range) }
            || stride.next(bytesMax: windowMax).contains { $0.overlaps(range) }
    }

    /// Whether a reader reads, or waits for bytes.
    private func isActive(_ position: Position, at now: Duration) -> Bool {
        now - position.time <= Self.pause
            || awaited.contains { Self.isNear($0.range, position) }
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
                let ahead = max(position.window(evidenceBytes, max: window), min(window, 1 << 20))
                return position.end - min(read, trail)..<position.end + ahead
            }
    }
}
