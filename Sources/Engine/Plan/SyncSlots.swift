/// The inodes that are being synchronised, and whether another one may start. The time is passed in.
struct SyncSlots {
    /// Time without progress after which a running inode no longer occupies a slot.
    static let standstill: Duration = .seconds(10)
    /// Limit of the inodes without slots: each has a request in progress.
    static let standingMax = 16
    /// Time without progress after which the request is probably never answered.
    static let silence: Duration = .seconds(60)
    /// Limit of the inodes without slots, including those that are silent.
    static let silentMax = 64

    private let runningMax: Int
    /// The running inodes, with the due time at which each was started and the time of its last
    /// progress.
    private(set) var running: [InodeNumber: (due: Duration, movedAt: Duration)] = [:]

    init(runningMax: Int) {
        self.runningMax = max(1, runningMax)
    }

    func isFree(at now: Duration) -> Bool {
        return running.count - withoutSlot(at: now) < runningMax
    }

    private func withoutSlot(at now: Duration) -> Int {
        let standing = running.values.count { $0.movedAt + Self.standstill <= now }
        let silent = running.values.count { $0.movedAt + Self.silence <= now }
        return min(Self.silentMax, silent + min(standing - silent, Self.standingMax))
    }

    /// Returns the time at which the next running inode may lose its slot.
    func nextStandstill(after now: Duration) -> Duration? {
        guard running.count < runningMax + Self.silentMax else { return nil }
        return running.values.flatMap { [$0.movedAt + Self.standstill, $0.movedAt + Self.silence] }
            .filter { $0 > now }.min()
    }

    mutating func start(_ inode: InodeNumber, due: Duration, at now: Duration) {
        running[inode] = (due, now)
    }

    /// Records progress of a running inode.
    mutating func noteMove(of inode: InodeNumber, at now: Duration) {
        running[inode]?.movedAt = now
    }

    mutating func finish(_ inode: InodeNumber) {
        precondition(running.removeValue(forKey: inode) != nil, "inode \(inode) was not running")
    }
}
