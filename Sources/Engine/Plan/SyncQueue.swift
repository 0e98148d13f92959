/// Decides which inode is synchronised next. It uses neither clock nor database: the time is passed
/// in.
///
/// It is a bounded window on the database's table of pending inodes: inodes that do not fit are
/// read from the table once there is room. Losing the queue loses no data.
struct SyncQueue {
    enum Action: Equatable {
        case start(InodeNumber)
        /// Read more pending inodes from the database, those after this one, and ``refill`` them.
        /// Held inodes may be left out, unless they are included.
        case refill(after: InodeNumber, limit: Int, includesHeld: Bool)
        /// Nothing to do before this time, or before an inode is enqueued.
        case wait(until: Duration?)
    }

    /// The outcome of a started inode.
    enum Outcome: Equatable {
        /// Nothing is left to do.
        case done
        /// Waits until another inode is done.
        case blocked(by: InodeNumber)
        /// Waits for another inode that needs a user's decision or failed permanently.
        case stuck(behind: InodeNumber)
        /// Waits for a user's decision, which enqueues it.
        case held
        /// Is retried after this delay.
        case again(after: Duration)
    }

    private enum Condition: Equatable {
        case due(Duration)
        case running(nextDue: Duration?)
        case blocked(by: InodeNumber)
    }

    /// Limit of the inodes in the window.
    static let windowMax = 4_096

    /// Time without progress after which a running inode no longer occupies a slot.
    static let standstill: Duration = .seconds(10)
    /// Limit of the inodes without slots: each has a request in progress.
    static let standingMax = 16

    /// Whether no inode is started at present.
    var isPaused = false
    private let runningMax: Int
    private var conditions: [InodeNumber: Condition] = [:]
    /// The due inodes, ordered by due time.
    private var due: [(time: Duration, inode: InodeNumber)] = []
    private var blocked: [InodeNumber: Set<InodeNumber>] = [:]
    /// The original due times, before any postponement.
    private var firstDue: [InodeNumber: Duration] = [:]
    /// Times of the last progress of running inodes.
    private var movedAt: [InodeNumber: Duration] = [:]
    /// Inodes whose waiters have left the window.
    private var leftBehind: Set<InodeNumber> = []
    private var scan = TableScan()

    /// The scan of the database's table of pending inodes, in ascending order.
    private struct TableScan {
        /// Whether the table may hold pending inodes outside the window.
        var hasMore = true
        /// Whether some of them may lie before ``cursor``.
        var hasSkipped = false
        /// Whether this scan includes held inodes: one of them may have changed without room in the
        /// window.
        var includesHeld = true
        /// Time of the next scan for inodes that left the window after a failure.
        var rescan: Duration?
        var cursor = InodeNumber(rawValue: 0)

        /// Records that an inode of the table is not in the window.
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
            // The current scan may have passed inodes that are to be read again.
            if cursor.rawValue != 0 { hasSkipped = true }
            (hasMore, rescan) = (true, nil)
        }
    }

    /// Limit of the delay that further changes can add to a due time.
    private static let postponementMax: Duration = .seconds(30)
    /// Minimum time for which inodes stay out of the window.
    private static let rescanDelay: Duration = .seconds(30)
    /// Time for which held inodes stay in the window if others wait for them, and for which stuck
    /// ones stay out of it.
    private static let holdDelay: Duration = .seconds(300)

    init(runningMax: Int) {
        self.runningMax = max(1, runningMax)
    }

    /// Makes an inode due at `time`, or at its current due time if that is earlier and not a
    /// backoff.
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
            // Otherwise an inode that keeps changing would never be due.
            let latest = (firstDue[inode] ?? old) + Self.postponementMax
            setDue(inode, at: min(time, max(latest, old)))
        case .running:
            conditions[inode] = .running(nextDue: time)
        case .blocked(let blocker):
            blocked[blocker]?.remove(inode)
            setDue(inode, at: time)
        }
    }

    /// Adds pending inodes from the database; fewer than `limit` mean the end of the table.
    mutating func refill(_ inodes: [InodeNumber], limit: Int, at now: Duration) {
        for inode in inodes where conditions[inode] == nil { setDue(inode, at: now) }
        scan.finish(with: inodes.count == limit ? inodes.last : nil)
    }

    /// Records that the database could not be read.
    mutating func refillFailed(at now: Duration) {
        scan.hasMore = false
        scan.rescan = now + .seconds(5)
    }

    /// Records progress of a running inode.
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

    /// Returns the time at which the next running inode may lose its slot; nil if no inode waits
    /// for a slot.
    private func nextStandstill(after now: Duration) -> Duration? {
        guard scan.hasMore || !due.isEmpty, movedAt.count < runningMax + Self.standingMax else {
            return nil
        }
        return movedAt.values.map { $0 + Self.standstill }.filter { $0 > now }.min()
    }

    /// Removes an inode that another one has brought to the remote. A running inode finds that out
    /// by itself.
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

    /// Records the outcome of a started inode.
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
            // Its waiters that left the window are in the table.
            if leftBehind.remove(inode) != nil { scan.noteSkipped() }
        case .blocked(let blocker):
            if let nextDue {
                setDue(inode, at: nextDue)
            } else if conditions[blocker] == nil {
                // The blocker may be pending outside the window, or about to be; it goes first.
                setDue(blocker, at: now)
                block(inode, by: blocker)
            } else {
                block(inode, by: blocker)
            }
        case .stuck(let blocker):
            // Its waiters must not keep other inodes out.
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
                // Failing inodes must not keep other inodes out.
                leave(for: delay, at: now)
            } else {
                setDue(inode, at: nextDue.map { max($0, now) } ?? now + delay)
            }
        }
        // A blocked inode made no progress; its waiters are planned again in case they form a
        // circle.
        if case .blocked = outcome {
            wake(inode, at: now + .seconds(1))
        } else {
            wake(inode, at: now)
        }
    }

    /// Returns the due time of an inode; nil if it is not in the window, or is blocked.
    func due(_ inode: InodeNumber) -> Duration? {
        guard case .due(let time) = conditions[inode] else { return nil }
        return time
    }

    private func isAwaited(_ inode: InodeNumber) -> Bool { blocked[inode]?.isEmpty == false }

    private var isCrowded: Bool { conditions.count > Self.windowMax / 2 }

    /// Schedules a scan of the table for inodes that leave the window.
    private mutating func leave(for delay: Duration, at now: Duration) {
        let time = now + max(delay, Self.rescanDelay)
        scan.rescan = min(scan.rescan ?? time, time)
    }

    private mutating func block(_ inode: InodeNumber, by blocker: InodeNumber) {
        conditions[inode] = .blocked(by: blocker)
        firstDue[inode] = nil
        blocked[blocker, default: []].insert(inode)
    }

    /// Makes the waiters of an inode due, whatever its outcome.
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
