import Synchronization

/// Decides which directories are listed anew, and when: those that somebody looks into, a while
/// after they were listed last. It knows no clock: time is an argument.
struct UsedDirectories {
    /// How many are remembered; of more, those used last.
    private static let countMax = 1_024
    /// How long after its last use a directory counts as used. The kernel answers from its cache
    /// for a while, so that we do not see every use.
    private static let age: Duration = .seconds(300)
    /// How many are listed at a time.
    static let runningMax = 4

    private struct Use {
        var last: Duration
        /// nil for one that was not listed since the start: the remote may have changed meanwhile.
        var listed: Duration?
    }

    private let interval: Duration
    private var uses: [InodeNumber: Use] = [.root: Use(last: .zero)]
    private var running: Set<InodeNumber> = []

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

    /// Begins with the directories that are due, those first that have waited longest, as far as
    /// there is room beside those that are under way. Those that are returned count as listed, and
    /// as under way until ``end(_:)``.
    ///
    /// - Returns: Them, and when the next ones are due; what there was no room for is due with the
    ///   end of one.
    mutating func takeDue(at now: Duration) -> (due: [InodeNumber], next: Duration) {
        uses = uses.filter { $0.key == .root || now - $0.value.last < Self.age }
        var due: [(time: Duration, directory: InodeNumber)] = []
        var next = now + interval
        // A slow one is not begun a second time, and holds up nobody but itself.
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

    /// The listing of a directory has ended.
    mutating func end(_ directory: InodeNumber) {
        running.remove(directory)
    }

    private mutating func forgetOldest() {
        let newest = uses.sorted { ($0.value.last, $0.key) > ($1.value.last, $1.key) }
        uses = Dictionary(uniqueKeysWithValues: Array(newest.prefix(Self.countMax)))
    }
}

/// The directories in use, and when each is listed again.
final class RefreshSchedule: Sendable {
    let uses: Mutex<UsedDirectories>
    /// Notified when a directory may be due.
    let signal = Doorbell()
    private let clock: any Clock

    init(interval: Duration, clock: any Clock) {
        uses = Mutex(UsedDirectories(interval: interval))
        self.clock = clock
    }
}

extension RefreshSchedule {
    /// Somebody looks into a directory. What is known is shown at once; if it may be old, it is
    /// looked after in the background, and the kernel told of what has changed.
    func noteUse(of directory: InodeNumber) {
        let now = clock.uptime
        if uses.withLock({ $0.note(directory, at: now) }) { signal.ring() }
    }
}
