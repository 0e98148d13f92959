/// The inodes that are being synchronised, and whether another one may start. The time is passed in.
struct SyncSlots {
    /// Time without progress after which a running inode no longer occupies a slot.
    static let standstill: Duration = .seconds(10)
    /// Limit of the inodes without slots: each has a request in progress.
    static let standingMax = 16

    private let runningMax: Int
    /// The running inodes, with the due time at which each was started and the time of its last
    /// progress.
    private(set) var running: [InodeNumber: (due: Duration, movedAt: Duration)] = [:]

    init(runningMax: Int) {
        self.runningMax = max(1, runningMax)
    }

    func isFree(at now: Duration) -> Bool {
        let standing = running.values.count { $0.movedAt + Self.standstill <= now }
        return running.count - min(standing, Self.standingMax) < runningMax
    }

    /// Returns the time at which the next running inode may lose its slot.
    func nextStandstill(after now: Duration) -> Duration? {
        guard running.count < runningMax + Self.standingMax else { return nil }
        return running.values.map { $0.movedAt + Self.standstill }.filter { $0 > now }.min()
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
