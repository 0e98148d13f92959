/// Decides which directories are listed anew, and when: those that somebody looks into, a while
/// after they were listed last. It knows no clock: time is an argument.
struct UsedDirectories {
    /// How many are remembered; of more, those used last.
    private static let countMax = 1_024
    /// How long after its last use a directory counts as used. The kernel answers from its cache
    /// for a while, so that we do not see every use.
    private static let age: Duration = .seconds(300)

    private struct Use {
        var last: Duration
        /// nil for one that was not listed since the start: the remote may have changed meanwhile.
        var listed: Duration?
    }

    private let interval: Duration
    private var uses: [InodeNumber: Use] = [.root: Use(last: .zero)]

    /// - Parameter interval: How old a listing may become.
    init(interval: Duration) {
        self.interval = interval
    }

    /// Somebody looks into a directory.
    ///
    /// - Returns: Whether it is due now.
    mutating func note(_ directory: InodeNumber, at now: Duration) -> Bool {
        let listed = uses[directory]?.listed
        uses[directory] = Use(last: now, listed: listed)
        if uses.count > Self.countMax * 2 { forgetOldest() }
        return listed.map { now - $0 >= interval } ?? true
    }

    /// A directory has just been listed, or is about to be.
    mutating func noteListing(_ directory: InodeNumber, at now: Duration) {
        uses[directory]?.listed = now
    }

    /// The directories that are due, ascending, and when the next ones will be. Those that are
    /// returned count as listed.
    mutating func takeDue(at now: Duration) -> (due: [InodeNumber], next: Duration) {
        uses = uses.filter { $0.key == .root || now - $0.value.last < Self.age }
        var due: [InodeNumber] = []
        var next = now + interval
        for (directory, use) in uses {
            let time = use.listed.map { $0 + interval } ?? now
            if time <= now {
                due.append(directory)
                uses[directory]?.listed = now
            } else {
                next = min(next, time)
            }
        }
        return (due.sorted(), next)
    }

    private mutating func forgetOldest() {
        let newest = uses.sorted { ($0.value.last, $0.key) > ($1.value.last, $1.key) }
        uses = Dictionary(uniqueKeysWithValues: Array(newest.prefix(Self.countMax)))
    }
}
