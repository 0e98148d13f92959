/// The window in which requests whose answer was lost may still take effect. Has no clock: time is
/// an argument.
///
/// Such a request may still be on its way, or queued at the store, and be carried out after a check
/// that found no trace of it. So a check counts as "it did not happen" only some time later.
struct InFlightWindow {
    /// How long a request may still be carried out after its sender has gone.
    static let requestLifeMax: Duration = .seconds(3)

    /// A request of the previous process may have been lost right before this one started.
    private let startedAt: Duration
    private var lost: [InodeNumber: Duration] = [:]

    init(startedAt: Duration) {
        self.startedAt = startedAt
    }

    /// Records that the answer to a request for an inode was lost just now.
    mutating func noteLoss(of inode: InodeNumber, at now: Duration) {
        lost = lost.filter { now < $0.value + Self.requestLifeMax }
        lost[inode] = now
    }

    /// - Returns: How long the request of an inode may still be carried out; nil once it cannot.
    func rest(of inode: InodeNumber, at now: Duration) -> Duration? {
        let end = (lost[inode] ?? startedAt) + Self.requestLifeMax
        return end > now ? end - now : nil
    }
}
