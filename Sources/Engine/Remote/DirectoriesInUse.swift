import Synchronization

/// Decides which directories are listed again, and when: those in use, an interval after their last
/// listing. Has no clock: time is an argument.
struct RefreshSchedule {
    /// Number of remembered directories, those used last.
    private static let countMax = 1_024
    /// How long after its last use a directory counts as used. The kernel answers from its cache
    /// for a while, so that not every use is seen.
    private static let age: Duration = .seconds(300)
    /// Maximum number of concurrent listings.
    static let runningMax = 4

    private struct Use {
        var last: Duration
        /// nil if it was not listed since the start: the remote may have changed meanwhile.
        var listed: Duration?
    }

    private let interval: Duration
    private var uses: [InodeNumber: Use] = [.root: Use(last: .zero)]
    private var running: Set<InodeNumber> = []

    /// - Parameter interval: Maximum age of a listing.
    init(interval: Duration) {
        self.interval = interval
    }

    /// Records the use of a directory.
    ///
    /// - Returns: Whether it is due now.
    mutating func note(_ directory: InodeNumber, at now: Duration) -> Bool {
        let listed = uses[directory]?.listed
        uses[directory] = Use(last: now, listed: listed)
        if uses.count > Self.countMax * 2 { forgetOldest() }
        return listed.map { now - $0 >= interval } ?? true
    }

    /// Records that a directory has just been listed, or is about to be.
    mutating func noteListing(_ directory: InodeNumber, at now: Duration) {
        uses[directory]?.listed = now
    }

    /// Starts the directories that are due, the longest overdue first, at most ``runningMax`` at a
    /// time. They count as listed, and as running until ``end(_:)``.
    ///
    /// - Returns: The started directories, and when the next ones are due. Those without room
    ///   become due when a listing ends.
    mutating func takeDue(at now: Duration) -> (due: [InodeNumber], next: Duration) {
        uses = uses.filter { $0.key == .root || now - $0.value.last < Self.age }
        var due: [(time: Duration, directory: InodeNumber)] = []
        var next = now + interval
        // A slow listing is not started twice, and delays no other.
        for (directory, use) in uses where !running.contains(directory) {
            let time = use.listed.map { $0 + interval } ?? .zero
            if time <= now {
                due.append((time, directory))
            } else {
                next = min(next, time)
            }
        }
        let begun = due.sorted { ($0.time, $0.directory) < ($1.time, $1.directory) }
            .prefix(Self.runningMax - running.count).map(\.directory)
        for directory in begun { uses[directory]?.listed = now }
        running.formUnion(begun)
        return (begun, next)
    }

    /// Records the end of a directory's listing.
    mutating func end(_ directory: InodeNumber) {
        running.remove(directory)
    }

    private mutating func forgetOldest() {
        let newest = uses.sorted { ($0.value.last, $0.key) > ($1.value.last, $1.key) }
        uses = Dictionary(uniqueKeysWithValues: Array(newest.prefix(Self.countMax)))
    }
}

/// The directories in use, and when each is listed again.
final class DirectoriesInUse: Sendable {
    let uses: Mutex<RefreshSchedule>
    /// Notified when a directory may be due.
    let signal = Signal()
    private let clock: any Clock

    init(interval: Duration, clock: any Clock) {
        uses = Mutex(RefreshSchedule(interval: interval))
        self.clock = clock
    }

    /// Records the use of a directory. Known entries are shown at once; if they may be outdated,
    /// they are refreshed in the background and the kernel is told of changes.
    func noteUse(of directory: InodeNumber) {
        let now = clock.uptime
        if uses.withLock({ $0.note(directory, at: now) }) { signal.notify() }
    }
}
