/// Decides which inode is synchronised next. It knows no clock and no database: time is an argument.
///
/// It is a bounded window on the database's table of pending inodes: what finds no room here is
/// still there, and is read from there when there is room again. Nothing is lost with it.
struct SyncQueue {
    enum Action: Equatable {
        case start(InodeNumber)
        /// Read more pending inodes from the database, those after this one, and ``refill`` them.
        /// Those that are held may be left out, unless asked for.
        case refill(after: InodeNumber, limit: Int, includesHeld: Bool)
        /// Nothing to do before this moment, or before something is enqueued.
        case wait(until: Duration?)
    }

    /// How it went, for whoever was started.
    enum Outcome: Equatable {
        /// Nothing is left to do for it.
        case done
        /// It waits for another inode to be done.
        case blocked(by: InodeNumber)
        /// It waits for another inode that waits for people, or fails for good.
        case stuck(behind: InodeNumber)
        /// It waits for people; what frees it enqueues it.
        case held
        /// It is tried again after this long.
        case again(after: Duration)
    }

    private enum Condition: Equatable {
        case due(Duration)
        case running(nextDue: Duration?)
        case blocked(by: InodeNumber)
    }

    /// How many inodes the window holds at the most.
    static let windowMax = 4_096

    /// One that has not come further for so long leaves its place to others.
    static let standstill: Duration = .seconds(10)
    /// How many do so at the most: each holds a request.
    static let standingMax = 16

    /// Whether nothing is started for now.
    var isPaused = false
    private let runningMax: Int
    private var conditions: [InodeNumber: Condition] = [:]
    /// The due ones in the order of their time.
    private var due: [(time: Duration, inode: InodeNumber)] = []
    private var blocked: [InodeNumber: Set<InodeNumber>] = [:]
    /// When the due ones were to be due before anything put that off.
    private var firstDue: [InodeNumber: Duration] = [:]
    /// When those that run last came further.
    private var movedAt: [InodeNumber: Duration] = [:]
    /// Inodes for whose sake some have left the window.
    private var leftBehind: Set<InodeNumber> = []
    private var scan = TableScan()

    /// The reading of the database's table of pending inodes, in ascending order.
    private struct TableScan {
        /// Whether the table may hold pending inodes that are not in the window.
        var hasMore = true
        /// Whether some of them may lie before ``cursor``.
        var hasSkipped = false
        /// Whether this reading includes those that are held: one of them may have changed, and
        /// found no room.
        var includesHeld = true
        /// When to read the table again for those that left the window after a failure.
        var rescan: Duration?
        var cursor = InodeNumber(rawValue: 0)

        /// An inode of the table is not in the window.
        mutating func noteSkipped() {
            (hasMore, hasSkipped) = (true, true)
        }

        mutating func finish(with last: InodeNumber?) {
            if let last {
                cursor = last
            } else {
                cursor = InodeNumber(rawValue: 0)
                includesHeld = hasSkipped
                (hasMore, hasSkipped) = (hasSkipped, false)
            }
        }

        mutating func advance(to now: Duration) {
            guard let time = rescan, time <= now else { return }
            // A reading that is under way may have passed by inodes that are to come back.
            if cursor.rawValue != 0 { hasSkipped = true }
            (hasMore, rescan) = (true, nil)
        }
    }

    /// For how long changes can put off what is due.
    private static let postponementMax: Duration = .seconds(30)
    /// How long what left the window stays away, at least.
    private static let rescanDelay: Duration = .seconds(30)
    /// How long what is held stays in the window where others wait for it, and how long those that
    /// are stuck stay away.
    private static let holdDelay: Duration = .seconds(300)

    init(runningMax: Int) {
        self.runningMax = max(1, runningMax)
    }

    /// Makes an inode due at `time`, or earlier where it was to be due earlier and did not fail.
    mutating func enqueue(_ inode: InodeNumber, at time: Duration) {
        switch conditions[inode] {
        case nil:
            guard conditions.count < Self.windowMax else {
                scan.noteSkipped()
                return
            }
            setDue(inode, at: time)
        case .due(let old):
            remove(inode, at: old)
            // What changes all the time would else never be due.
            let latest = (firstDue[inode] ?? old) + Self.postponementMax
            setDue(inode, at: min(time, max(latest, old)))
        case .running:
            conditions[inode] = .running(nextDue: time)
        case .blocked(let blocker):
            blocked[blocker]?.remove(inode)
            setDue(inode, at: time)
        }
    }

    /// Pending inodes read from the database; fewer than asked for means that there are no more.
    mutating func refill(_ inodes: [InodeNumber], limit: Int, at now: Duration) {
        for inode in inodes where conditions[inode] == nil { setDue(inode, at: now) }
        scan.finish(with: inodes.count == limit ? inodes.last : nil)
    }

    /// The database could not be read.
    mutating func refillFailed(at now: Duration) {
        scan.hasMore = false
        scan.rescan = now + .seconds(5)
    }

    /// Something has got done for one that runs.
    mutating func noteMove(of inode: InodeNumber, at now: Duration) {
        if movedAt[inode] != nil { movedAt[inode] = now }
    }

    mutating func next(at now: Duration) -> Action {
        if isPaused { return .wait(until: nil) }
        scan.advance(to: now)
        let hasPlace = hasPlace(at: now)
        if hasPlace, let first = due.first, first.time <= now {
            due.removeFirst()
            conditions[first.inode] = .running(nextDue: nil)
            firstDue[first.inode] = nil
            movedAt[first.inode] = now
            return .start(first.inode)
        }
        let room = Self.windowMax - conditions.count
        if scan.hasMore, hasPlace, room >= Self.windowMax / 4 {
            return .refill(after: scan.cursor, limit: room, includesHeld: scan.includesHeld)
        }
        let next = hasPlace ? due.first?.time : nextStandstill(after: now)
        return .wait(until: [next, scan.rescan].compactMap { $0 }.min())
    }

    private func hasPlace(at now: Duration) -> Bool {
        let standing = movedAt.values.count { $0 + Self.standstill <= now }
        return movedAt.count - min(standing, Self.standingMax) < runningMax
    }

    /// When the next one may leave its place to others; nil where nobody waits for that.
    private func nextStandstill(after now: Duration) -> Duration? {
        guard scan.hasMore || !due.isEmpty, movedAt.count < runningMax + Self.standingMax else {
            return nil
        }
        return movedAt.values.map { $0 + Self.standstill }.filter { $0 > now }.min()
    }

    /// Nothing is left to do for an inode, as somebody else has done it. One that is just running finds
    /// that out by itself.
    mutating func settle(_ inode: InodeNumber, at now: Duration) {
        switch conditions[inode] {
        case nil, .running: return
        case .due(let time): remove(inode, at: time)
        case .blocked(let blocker): blocked[blocker]?.remove(inode)
        }
        conditions[inode] = nil
        firstDue[inode] = nil
        finish(inode, .done, nil, at: now)
    }

    /// What was started has ended.
    mutating func finish(_ inode: InodeNumber, _ outcome: Outcome, at now: Duration) {
        guard case .running(let nextDue) = conditions.removeValue(forKey: inode) else {
            preconditionFailure("inode \(inode) was not running")
        }
        movedAt[inode] = nil
        finish(inode, outcome, nextDue, at: now)
    }

    private mutating func finish(
        _ inode: InodeNumber, _ outcome: Outcome, _ nextDue: Duration?, at now: Duration
    ) {
        switch outcome {
        case .done:
            if let nextDue { setDue(inode, at: nextDue) }
            // Who left for its sake is somewhere in the table.
            if leftBehind.remove(inode) != nil { scan.noteSkipped() }
        case .blocked(let blocker):
            if let nextDue {
                setDue(inode, at: nextDue)
            } else if conditions[blocker] == nil {
                // It may be pending outside of the window, or about to be; it goes first.
                setDue(blocker, at: now)
                block(inode, by: blocker)
            } else {
                block(inode, by: blocker)
            }
        case .stuck(let blocker):
            // Those that wait for it must not keep the others out.
            guard nextDue == nil, !isAwaited(inode), isCrowded else {
                return finish(inode, .blocked(by: blocker), nextDue, at: now)
            }
            if leftBehind.count < Self.windowMax { leftBehind.insert(blocker) }
            leave(for: Self.holdDelay, at: now)
        case .held:
            if let due = nextDue ?? (isAwaited(inode) ? now + Self.holdDelay : nil) {
                setDue(inode, at: due)
            }
        case .again(let delay):
            if nextDue == nil, !isAwaited(inode), isCrowded {
                // Those that fail must not keep the others out.
                leave(for: delay, at: now)
            } else {
                setDue(inode, at: nextDue.map { max($0, now) } ?? now + delay)
            }
        }
        // One that waits itself has not come further; its waiters look again in case all wait for
        // each other.
        if case .blocked = outcome {
            wake(inode, at: now + .seconds(1))
        } else {
            wake(inode, at: now)
        }
    }

    /// When an inode is looked at again; nil for one that is not in the window, or waits for another.
    func due(_ inode: InodeNumber) -> Duration? {
        guard case .due(let time) = conditions[inode] else { return nil }
        return time
    }

    private func isAwaited(_ inode: InodeNumber) -> Bool { blocked[inode]?.isEmpty == false }

    private var isCrowded: Bool { conditions.count > Self.windowMax / 2 }

    /// Sees to it that what leaves the window comes back.
    private mutating func leave(for delay: Duration, at now: Duration) {
        let time = now + max(delay, Self.rescanDelay)
        scan.rescan = min(scan.rescan ?? time, time)
    }

    private mutating func block(_ inode: InodeNumber, by blocker: InodeNumber) {
        conditions[inode] = .blocked(by: blocker)
        firstDue[inode] = nil
        blocked[blocker, default: []].insert(inode)
    }

    /// Whoever waited for an inode looks again, however that ended.
    private mutating func wake(_ inode: InodeNumber, at now: Duration) {
        for other in (blocked.removeValue(forKey: inode) ?? []).sorted() {
            setDue(other, at: now)
        }
    }

    private mutating func setDue(_ inode: InodeNumber, at time: Duration) {
        if firstDue[inode] == nil { firstDue[inode] = time }
        conditions[inode] = .due(time)
        let index = position(of: (time, inode))
        due.insert((time, inode), at: index)
    }

    private mutating func remove(_ inode: InodeNumber, at time: Duration) {
        let index = position(of: (time, inode))
        precondition(due[index].inode == inode, "the queue lost inode \(inode)")
        due.remove(at: index)
    }

    private func position(of entry: (Duration, InodeNumber)) -> Int {
        var low = 0
        var high = due.count
        while low < high {
            let middle = (low + high) / 2
            if due[middle] < entry { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
