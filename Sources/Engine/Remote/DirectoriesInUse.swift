import Synchronization

/// Decides which directories are listed again, and when: those in use, an interval after their last
/// listing, or later if that took long. Has no clock: time is an argument.
struct RefreshSchedule {
    /// Number of remembered directories, those used last.
    private static let countMax = 1_024
    /// How long after its last known use a directory counts as used: ten intervals, five minutes at
    /// most. The kernel answers from its caches, so that most uses are not seen. After this time it is
    /// made to report the next one.
    private static let ageMax: Duration = .seconds(300)
    /// Maximum number of concurrent listings.
    static let runningMax = 4
    /// Maximum duration of a listing that is followed by no pause other than the interval, which is
    /// 20 times as long by default. With a shorter one, doubled pauses would outlast the interval.
    static let shortMax: Duration = .milliseconds(1_500)
    /// The pause after a long listing, as a multiple of its duration: a directory is being listed
    /// for at most a twentieth of the time.
    static let restFactor = 20
    /// How often the pause doubles, once after each long listing without news.
    static let doublingsMax = 3
    /// Maximum duration of a doubled pause.
    static let doubledRestMax: Duration = .seconds(3_600)

    private struct Use {
        var last: Duration
        /// When it is due; nil if it was not listed since the start: the remote may have changed
        /// meanwhile.
        var due: Duration?
        /// The number of long listings without news since the last one with news or the last short
        /// one: a single slow answer is no reason for the longest pause.
        var quietListings = 0
        /// Whether the kernel reports its next use, as it has no attributes of it or is told to drop
        /// them.
        var isWatched = false
    }

    private let interval: Duration
    private let age: Duration
    private var uses: [InodeNumber: Use] = [.root: Use(last: .zero)]
    private var running: Set<InodeNumber> = []
    /// Directories that are no longer remembered, and whose next use the kernel is to report.
    private var forgotten: [InodeNumber] = []
    /// When the next listing begins, as far as known at the last ``takeDue(at:)``.
    private var nextDue: Duration = .zero

    /// - Parameter interval: Maximum age of a listing, unless that took long.
    init(interval: Duration) {
        self.interval = interval
        age = min(interval * 10, Self.ageMax)
    }

    /// Records the use of a directory.
    ///
    /// - Returns: Whether it is due now, or earlier than all others.
    mutating func note(_ directory: InodeNumber, at now: Duration) -> Bool {
        var use = uses[directory] ?? Use(last: now)
        let wasInUse = isInUse(use, at: now)
        use.last = now
        use.isWatched = false
        uses[directory] = use
        if uses.count > Self.countMax * 2 { forgetOldest() }
        guard let due = use.due else { return true }
        return due <= now || !wasInUse && due < nextDue
    }

    /// Whether a directory is listed at intervals, and is going to be watched after its last use. The
    /// kernel may cache the attributes of no other one: it would not report the next use.
    func isKeptFresh(_ directory: InodeNumber, at now: Duration) -> Bool {
        if directory == .root { return true }
        return uses[directory].map { !$0.isWatched && isInUse($0, at: now) } ?? false
    }

    /// Records that the listing of a directory begins.
    ///
    /// - Parameter isAhead: Whether the directory may be used for the first time soon, which then is
    ///   no reason to list it again.
    mutating func noteListing(_ directory: InodeNumber, isAhead: Bool = false, at now: Duration) {
        if isAhead, uses[directory] == nil {
            uses[directory] = Use(last: now - age, isWatched: true)
            if uses.count > Self.countMax * 2 { forgetOldest() }
        }
        uses[directory]?.due = now + interval
    }

    /// Records that the listing of a directory has ended.
    ///
    /// - Parameters:
    ///   - begin: The time of ``noteListing(_:at:)``.
    ///   - busy: The duration without a final wait in vain, as after a loss of the connection.
    ///   - hasNews: Whether it found a change, or failed.
    mutating func noteEnd(
        of directory: InodeNumber, begunAt begin: Duration, busy: Duration, hasNews: Bool,
        at now: Duration
    ) {
        guard var use = uses[directory] else { return }
        let isShort = busy <= Self.shortMax
        use.quietListings =
            hasNews || isShort ? 0 : min(use.quietListings + 1, Self.doublingsMax)
        let rest = isShort ? .zero : busy * Self.restFactor
        let doubled = min(rest * (1 << use.quietListings), Self.doubledRestMax)
        use.due = max(begin + interval, now + max(rest, doubled))
        uses[directory] = use
    }

    /// Returns the directories forgotten since the last call: the caller has the kernel report their
    /// next use.
    mutating func takeForgotten() -> [InodeNumber] {
        defer { forgotten = [] }
        return forgotten
    }

    /// Returns the directories that have not been used for so long that they are not listed any more:
    /// the caller has the kernel report their next use.
    mutating func takeIdle(at now: Duration) -> [InodeNumber] {
        let idle = uses.filter { directory, use in
            directory != .root && !use.isWatched && !isInUse(use, at: now)
        }.keys.sorted()
        for directory in idle { uses[directory]?.isWatched = true }
        return idle
    }

    /// Starts the directories that are due, the longest overdue first, at most ``runningMax`` at a
    /// time. They count as running until ``end(_:)``.
    ///
    /// - Returns: The started directories, and when the next ones are due. Those without room
    ///   become due when a listing ends.
    mutating func takeDue(at now: Duration) -> (due: [InodeNumber], next: Duration) {
        // A pause outlasts the use, so that frequent first uses do not shorten it.
        uses = uses.filter { directory, use in
            directory == .root || !use.isWatched || (use.due ?? now) > now
        }
        var due: [(time: Duration, directory: InodeNumber)] = []
        var next = now + interval
        // A slow listing is not started twice, and delays no other.
        for (directory, use) in uses where !running.contains(directory) {
            guard directory == .root || isInUse(use, at: now) else { continue }
            if directory != .root { next = min(next, use.last + age) }
            let time = use.due ?? .zero
            if time <= now {
                due.append((time, directory))
            } else {
                next = min(next, time)
            }
        }
        let begun = due.sorted { ($0.time, $0.directory) < ($1.time, $1.directory) }
            .prefix(Self.runningMax - running.count).map(\.directory)
        for directory in begun { uses[directory]?.due = now + interval }
        running.formUnion(begun)
        nextDue = next
        return (begun, next)
    }

    /// Records the end of a directory's listing.
    mutating func end(_ directory: InodeNumber) {
        running.remove(directory)
    }

    private func isInUse(_ use: Use, at now: Duration) -> Bool {
        now - use.last < age
    }

    private mutating func forgetOldest() {
        let root = uses.removeValue(forKey: .root)
        defer { uses[.root] = root }
        let newest = uses.sorted { ($0.value.last, $0.key) > ($1.value.last, $1.key) }
        forgotten += newest.dropFirst(Self.countMax).filter { !$0.value.isWatched }.map(\.key)
        uses = Dictionary(uniqueKeysWithValues: Array(newest.prefix(Self.countMax)))
    }
}

/// The directories in use, and when each is listed again.
final class DirectoriesInUse: Sendable {
    let uses: Mutex<RefreshSchedule>
    /// Notified when a directory may be due.
    let signal = Signal()
    private let clock: any Clock
    private let kernelCache: KernelCacheRelay

    init(interval: Duration, clock: any Clock, kernelCache: KernelCacheRelay) {
        uses = Mutex(RefreshSchedule(interval: interval))
        self.clock = clock
        self.kernelCache = kernelCache
    }

    /// Records the use of a directory. Known entries are shown at once; if they may be outdated,
    /// they are refreshed in the background and the kernel is told of changes.
    func noteUse(of directory: InodeNumber) {
        let now = clock.uptime
        let (isDue, forgotten) = uses.withLock { uses in
            (uses.note(directory, at: now), uses.takeForgotten())
        }
        if isDue { signal.notify() }
        kernelCache.watch(forgotten)
    }

    /// Returns attributes read before with what the kernel may do with them: see
    /// ``Attributes/isIdle``.
    func marking(_ attributes: Attributes) -> Attributes {
        guard attributes.kind == .directory else { return attributes }
        var attributes = attributes
        let now = clock.uptime
        attributes.isIdle = uses.withLock { !$0.isKeptFresh(attributes.inode, at: now) }
        return attributes
    }

    /// Has the kernel report the next use of those that have not been used for long, or are no longer
    /// remembered.
    func watchIdle() {
        let now = clock.uptime
        kernelCache.watch(uses.withLock { $0.takeIdle(at: now) + $0.takeForgotten() })
    }
}
