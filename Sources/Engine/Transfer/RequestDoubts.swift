/// Since when nobody waits any more for the answers that got lost. It knows no clock: time is an
/// argument.
///
/// A request whose sender is gone may still be on its way, or wait at the store for its turn, and be
/// carried out after a look that found nothing of it. So a look counts as "it did not happen" only
/// some time later.
struct RequestDoubts {
    /// For how long a request may still be carried out once nobody waits for it.
    static let requestLifeMax: Duration = .seconds(3)

    /// That of the process before may have been lost right before this one started.
    private let startedAt: Duration
    private var lost: [InodeNumber: Duration] = [:]

    init(startedAt: Duration) {
        self.startedAt = startedAt
    }

    /// The answer to a request for an inode was lost just now.
    mutating func noteLoss(of inode: InodeNumber, at now: Duration) {
        lost = lost.filter { now < $0.value + Self.requestLifeMax }
        lost[inode] = now
    }

    /// - Returns: For how long the request of an inode may still be carried out; nil once it cannot.
    func rest(of inode: InodeNumber, at now: Duration) -> Duration? {
        let end = (lost[inode] ?? startedAt) + Self.requestLifeMax
        return end > now ? end - now : nil
    }
}
