/// Decides how far ahead of a program to look that goes through a directory file by file, as `ls -l`
/// and `cp -a` do. Who looks at a single file has nothing else asked for. It knows no clock: time is
/// an argument.
struct DirectoryWalks {
    /// How many names ahead at the most.
    static let countMax = 64
    /// How many directories are remembered.
    private static let directoriesMax = 64
    /// After that long without a step, a walk has ended.
    private static let age: Duration = .seconds(10)
    /// How many names may be passed over, as they are directories or known already.
    private static let gapMax: Int64 = 16

    private struct Walk {
        var last: Duration
        var cookie: Int64
        /// How far has been looked ahead.
        var end: Int64
        var count: Int
    }

    private var walks: [InodeNumber: Walk] = [:]

    /// Somebody waits for a file that is not known.
    ///
    /// Cookies are given out one by one, so that in a directory as it was listed those of
    /// neighbours follow on each other.
    ///
    /// - Returns: Among how many names after `cookie` to look for others; 0 for none.
    mutating func note(_ directory: InodeNumber, cookie: Int64, at now: Duration) -> Int {
        guard var walk = walks[directory], now - walk.last < Self.age else {
            begin(directory, cookie: cookie, at: now)
            return 0
        }
        if cookie <= walk.cookie, walk.cookie - cookie < Self.gapMax {
            // Another thread of the same program.
            walks[directory]?.last = now
            return 0
        }
        let isNext = walk.cookie < cookie && cookie <= walk.end + Self.gapMax
        walk.count = isNext ? min(max(2, walk.count * 2), Self.countMax) : walk.count / 2
        (walk.last, walk.cookie) = (now, cookie)
        defer { walks[directory] = walk }
        if isNext, cookie + Int64(walk.count / 2) <= walk.end { return 0 }
        walk.end = cookie + Int64(walk.count)
        return walk.count
    }

    private mutating func begin(_ directory: InodeNumber, cookie: Int64, at now: Duration) {
        if walks[directory] == nil, walks.count >= Self.directoriesMax,
            let oldest = walks.min(by: { ($0.value.last, $0.key) < ($1.value.last, $1.key) })
        {
            walks[oldest.key] = nil
        }
        walks[directory] = Walk(last: now, cookie: cookie, end: cookie, count: 0)
    }
}
