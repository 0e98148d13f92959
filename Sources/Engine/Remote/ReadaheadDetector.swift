/// Decides how far to read ahead for a program that goes through a directory file by file, as
/// `ls -l` and `cp -a` do. Access to a single file causes no readahead, unless it is the first one in the
/// order of the listing. Has no clock: time is an argument.
struct ReadaheadDetector {
    /// Maximum readahead in names.
    static let countMax = 512
    /// The first readahead, and the factor by which it grows with each.
    private static let growth = 8
    /// How many directories are remembered.
    private static let directoriesMax = 64
    /// A walk ends after this long without a step.
    private static let age: Duration = .seconds(10)
    /// How many names a step may skip: directories, or files already known.
    private static let gapMax: Int64 = 16

    private struct Walk {
        var last: Duration
        var cookie: Int64
        /// The last cookie read ahead.
        var end: Int64
        var count: Int
    }

    private var walks: [InodeNumber: Walk] = [:]

    /// Records that a program waits for an unknown file.
    ///
    /// Cookies are assigned consecutively, so that neighbours in a directory as listed have
    /// consecutive cookies.
    ///
    /// - Parameters:
    ///   - isFirst: Whether no name of the directory has a lower cookie.
    ///   - isOfWalk: Whether it has gone through other directories file by file before.
    /// - Returns: The number of names after `cookie` among which to look for others; 0 for none.
    mutating func note(
        _ directory: InodeNumber, cookie: Int64, isFirst: Bool = false, isOfWalk: Bool = false,
        at now: Duration
    ) -> Int {
        guard var walk = walks[directory], now - walk.last < Self.age else {
            let count = isOfWalk ? Self.countMax : isFirst ? Self.growth : 0
            return begin(directory, cookie: cookie, count: count, at: now)
        }
        if cookie <= walk.cookie, walk.cookie - cookie < Self.gapMax {
            // Another thread of the same program.
            walks[directory]?.last = now
            return 0
        }
        let isNext = walk.cookie < cookie && cookie <= walk.end + Self.gapMax
        walk.count =
            isNext
            ? min(max(1, walk.count) * Self.growth, Self.countMax) : walk.count / Self.growth
        (walk.last, walk.cookie) = (now, cookie)
        defer { walks[directory] = walk }
        if isNext, cookie + Int64(walk.count / 2) <= walk.end { return 0 }
        walk.end = cookie + Int64(walk.count)
        return walk.count
    }

    /// Records that not all names were read ahead that ``note(_:cookie:isFirst:isOfWalk:at:)`` has
    /// returned: the next step returns them again.
    mutating func noteNoRoom(in directory: InodeNumber) {
        guard let walk = walks[directory] else { return }
        walks[directory]?.end = walk.cookie
    }

    private mutating func begin(
        _ directory: InodeNumber, cookie: Int64, count: Int, at now: Duration
    ) -> Int {
        if walks[directory] == nil, walks.count >= Self.directoriesMax,
            let oldest = walks.min(by: { ($0.value.last, $0.key) < ($1.value.last, $1.key) })
        {
            walks[oldest.key] = nil
        }
        walks[directory] = Walk(
            last: now, cookie: cookie, end: cookie + Int64(count), count: count)
        return count
    }
}
