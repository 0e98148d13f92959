/// Decides which directories are listed again, and when: those in use, an interval after their last
/// listing, or later if that took long. Those that the remote follows are listed when it reports a
/// change, and otherwise seldom. Has no clock: time is an argument.
struct RefreshSchedule {
    /// Number of remembered directories, those used last.
    private static let countMax = 1_024
    /// How long after its last known use a directory counts as used: ten intervals, five minutes at
    /// most. The kernel answers from its caches, so that most uses are not seen. After this time it is
    /// made to report the next one.
    private static let ageMax: Duration = .seconds(300)
    /// How long after its last known use the remote goes on to follow a directory.
    static let followedAgeMax: Duration = .seconds(3_600)
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
        var followed = FollowedState()
    }

    private let interval: Duration
    private let followedInterval: Duration
    private let age: Duration
    private var uses: [InodeNumber: Use] = [.root: Use(last: .zero)]
    /// Whether the remote reports changes at present.
    private(set) var isReporting = false
    /// The directories that the remote follows.
    private var followed: [ObjectKey: InodeNumber] = [:]
    /// Those that it is not to follow any more.
    private var unfollowed: [ObjectKey] = []
    private var running: Set<InodeNumber> = []
    /// Directories that are no longer remembered, and whose next use the kernel is to report.
    private var forgotten: [InodeNumber] = []
    /// When the next listing begins, as far as known at the last ``takeDue(at:)``.
    private var nextDue: Duration = .zero

    /// - Parameters:
    ///   - interval: Maximum age of a listing, unless that took long.
    ///   - followedInterval: The same if the remote reports no change.
    init(interval: Duration, followedInterval: Duration? = nil) {
        self.interval = interval
        self.followedInterval = followedInterval ?? interval * 10
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
        guard let due = due(use, directory, at: now) else { return false }
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
        uses[directory]?.followed.noteListing()
    }

    /// Records that the listing of a directory has ended.
    ///
    /// - Parameters:
    ///   - begin: The time of ``noteListing(_:at:)``.
    ///   - busy: The duration without a final wait in vain, as after a loss of the connection.
    ///   - hasNews: Whether it found a change; nil if it failed.
    ///   - isGone: Whether it failed as the remote has no such directory.
    ///   - isVouched: Whether the remote follows the directory since before the listing, and that
    ///     proves the state of all its names.
    mutating func noteEnd(
        of directory: InodeNumber, begunAt begin: Duration, busy: Duration, hasNews: Bool?,
        isGone: Bool = false, isVouched: Bool = false, at now: Duration
    ) {
        guard var use = uses[directory] else { return }
        let isShort = busy <= Self.shortMax
        use.quietListings =
            hasNews != false || isShort ? 0 : min(use.quietListings + 1, Self.doublingsMax)
        let rest = isShort ? .zero : busy * Self.restFactor
        let doubled = min(rest * (1 << use.quietListings), Self.doubledRestMax)
        use.due = max(begin + interval, now + max(rest, doubled))
        use.followed.noteEnd(
            isAnswer: hasNews != nil || isGone, busy: busy, hasNews: hasNews ?? false, at: now)
        use.followed.isVouched = isVouched && hasNews != nil && !use.followed.isDoubtful
        use.followed.safetyDue = max(begin + followedInterval, use.due ?? .zero)
        uses[directory] = use
    }

    // MARK: Reports

    /// Records whether the remote reports changes.
    ///
    /// - Returns: Whether directories may be due.
    mutating func setReporting(_ isReporting: Bool, at now: Duration) -> Bool {
        defer { self.isReporting = isReporting }
        guard isReporting != self.isReporting else { return false }
        return !isReporting || noteMissed(at: now)
    }

    /// Records that the directories have changed.
    ///
    /// - Returns: Whether any of them is to be listed.
    mutating func noteReports(of keys: [ObjectKey], at now: Duration) -> Bool {
        let directories = keys.compactMap { followed[$0] }
        for directory in directories { uses[directory]?.followed.noteReport(at: now) }
        return !directories.isEmpty
    }

    /// Records that a directory has to be listed although nothing was reported: now if it is in use,
    /// otherwise after its next use, as if the remote did not follow it.
    ///
    /// - Returns: Whether it is to be listed now.
    mutating func requireListing(of directory: InodeNumber, at now: Duration) -> Bool {
        guard isReporting, var use = uses[directory] else { return false }
        (use.followed.isVouched, use.followed.isDoubtful) = (false, true)
        uses[directory] = use
        guard directory == .root || isInUse(use, at: now) else { return false }
        uses[directory]?.followed.noteReport(at: now)
        return true
    }

    /// Records that any directory may have changed: those in use are listed, the others are not
    /// followed any more.
    ///
    /// - Returns: Whether any of them is to be listed.
    mutating func noteMissed(at now: Duration) -> Bool {
        for (directory, var use) in uses {
            if directory == .root || isInUse(use, at: now) {
                use.followed.noteReport(at: now)
            } else {
                unfollow(&use)
            }
            uses[directory] = use
        }
        return true
    }

    /// Records that the remote is asked to follow a directory, before it answers: a call of
    /// ``noteUnfollowed(_:at:)`` for an earlier use of the key may come at any time.
    ///
    /// - Returns: Whether it is to be asked.
    mutating func beginFollowing(_ directory: InodeNumber, as key: ObjectKey) -> Bool {
        guard isReporting, var use = uses[directory] else { return false }
        if let former = use.followed.key, former != key { unfollow(&use) }
        if let other = followed[key], other != directory {
            uses[other]?.followed.key = nil
            uses[other]?.followed.isVouched = false
        }
        use.followed.key = key
        followed[key] = directory
        uses[directory] = use
        return true
    }

    /// Records the answer of the remote. If it fails to answer, it follows what it followed before.
    ///
    /// - Returns: Whether the remote reports changes in the directory from now on.
    mutating func endFollowing(
        _ directory: InodeNumber, as key: ObjectKey, isFollowed: Bool
    ) -> Bool {
        guard followed[key] == directory, var use = uses[directory] else {
            // Forgotten meanwhile, and possibly reported as such before the remote followed it.
            if isFollowed { unfollowed.append(key) }
            return false
        }
        if isFollowed {
            use.followed.isConfirmed = true
        } else if !use.followed.isConfirmed {
            unfollow(&use)
        }
        uses[directory] = use
        return isFollowed
    }

    /// Returns the directories since the last call that the remote is not to follow any more.
    mutating func takeUnfollowed() -> [ObjectKey] {
        defer { unfollowed = [] }
        return unfollowed.filter { followed[$0] == nil }
    }

    /// Records that the remote does not follow a directory any more. If that was asked for again
    /// meanwhile, it is listed once more, as no reports may come.
    mutating func noteUnfollowed(_ key: ObjectKey, at now: Duration) {
        _ = noteReports(of: [key], at: now)
    }

    /// From then on, nothing vouches for its last listing.
    private mutating func unfollow(_ use: inout Use) {
        use.followed.isVouched = false
        guard let key = use.followed.key else { return }
        use.followed.key = nil
        followed[key] = nil
        unfollowed.append(key)
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
        forgetIdle(at: now)
        var due: [(time: Duration, directory: InodeNumber)] = []
        var next = now + interval
        // A slow listing is not started twice, and delays no other.
        for (directory, use) in uses where !running.contains(directory) {
            guard let time = self.due(use, directory, at: now) else { continue }
            if directory != .root, isInUse(use, at: now) { next = min(next, use.last + age) }
            if time <= now {
                due.append((time, directory))
            } else {
                next = min(next, time)
            }
        }
        let begun = due.sorted { ($0.time, $0.directory) < ($1.time, $1.directory) }
            .prefix(Self.runningMax - running.count).map(\.directory)
        for directory in begun {
            uses[directory]?.due = now + interval
            uses[directory]?.followed.isVouched = false
        }
        running.formUnion(begun)
        nextDue = next
        return (begun, next)
    }

    /// Forgets a followed directory that is not on the remote any more. A report of a change in it may be the
    /// only sign of a new one in its place, so the nearest one above that is followed is to be listed.
    mutating func noteGone(_ directory: InodeNumber, at now: Duration) {
        guard directory != .root, var use = uses[directory], let key = use.followed.key else {
            return
        }
        // It may live on here.
        if !use.isWatched { forgotten.append(directory) }
        unfollow(&use)
        uses[directory] = nil
        guard use.followed.reportDue != nil else { return }
        var ancestor = key.parent
        while let place = ancestor {
            if let directory = followed[place] {
                uses[directory]?.followed.noteReport(at: now)
                return
            }
            ancestor = place.parent
        }
    }

    /// Records the end of a directory's refresh.
    mutating func end(_ directory: InodeNumber, at now: Duration) {
        running.remove(directory)
        uses[directory]?.followed.noteRefresh(at: now)
    }

    /// Returns when a directory is listed; nil for not at all.
    private func due(_ use: Use, _ directory: InodeNumber, at now: Duration) -> Duration? {
        var due: Duration?
        if directory == .root || isInUse(use, at: now) {
            due =
                isReporting && use.followed.isVouched
                ? use.followed.safetyDue : use.due ?? .zero
        }
        return [due, use.followed.reportDue].compactMap(\.self).min()
    }

    private func isInUse(_ use: Use, at now: Duration) -> Bool {
        now - use.last < age
    }

    /// Forgets directories that are neither used nor followed. A pause outlasts the use, so that
    /// frequent first uses do not shorten it.
    private mutating func forgetIdle(at now: Duration) {
        for (directory, var use) in uses where directory != .root && use.isWatched {
            if use.followed.key != nil {
                if now - use.last < Self.followedAgeMax { continue }
                unfollow(&use)
            }
            uses[directory] = use.due.map { $0 > now } ?? false ? use : nil
        }
    }

    private mutating func forgetOldest() {
        let root = uses.removeValue(forKey: .root)
        defer { uses[.root] = root }
        let newest = uses.sorted { ($0.value.last, $0.key) > ($1.value.last, $1.key) }
        for (directory, var use) in newest.dropFirst(Self.countMax) {
            if !use.isWatched { forgotten.append(directory) }
            unfollow(&use)
        }
        uses = Dictionary(uniqueKeysWithValues: Array(newest.prefix(Self.countMax)))
    }
}
