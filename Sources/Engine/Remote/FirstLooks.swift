import Synchronization

/// Decides whether the first look into a known directory since the start waits for its listing: until
/// then a name that another client has made since the last mount seems to be missing.
///
/// Such waits delay programs by no more than ``budgetMax`` at once, and a tenth of the time in the long
/// run, so that a walk through a large known tree, or a silent remote, costs little. Has no clock: time
/// is an argument.
struct FirstLooks {
    /// The number of directories up to which first looks are told from later ones.
    static let directoriesMax = 65_536
    static let budgetMax: Duration = .seconds(2)
    private static let refillFactor = 10

    /// How long one look may wait; zero if none does.
    private let waitMax: Duration
    private var listed: Set<InodeNumber> = []
    private var budget: Duration
    private var refilled: Duration

    init(waitMax: Duration, budget: Duration, at now: Duration) {
        self.waitMax = waitMax
        self.budget = budget
        refilled = now
    }

    /// Returns how long a look into a directory may wait; nil if it is not the first, or others have
    /// waited for too long.
    mutating func limit(for directory: InodeNumber, at now: Duration) -> Duration? {
        guard waitMax > .zero, listed.count < Self.directoriesMax, !listed.contains(directory)
        else { return nil }
        budget = min(budget + (now - refilled) / Self.refillFactor, Self.budgetMax)
        refilled = now
        return budget > .zero ? min(waitMax, budget) : nil
    }

    /// Lets the next looks not wait.
    mutating func skip(at now: Duration) { (budget, refilled) = (.zero, now) }

    /// Records the end of a wait.
    mutating func noteWait(for directory: InodeNumber, of duration: Duration) {
        budget -= duration
        noteListing(of: directory)
    }

    /// Records that a directory was listed since the start, or cannot be.
    mutating func noteListing(of directory: InodeNumber) {
        guard waitMax > .zero, listed.count < Self.directoriesMax else { return }
        listed.insert(directory)
    }
}

extension Lister {
    /// - Throws: `.awaits` for the first look into a known directory since the start, which
    ///   ``awaitFirstLook(at:)`` meets, unless the remote does not answer.
    func requireFirstLook(at directory: InodeNumber) throws(Blocked) {
        let isReachable = gate.reachability.withLock(\.isReachable)
        guard isReachable,
            firstLooks.withLock({ $0.limit(for: directory, at: clock.uptime) }) != nil,
            // One that was never listed is listed anyway.
            try store.readBriefly({ try $0.inode(directory)?.isListed }) == true
        else { return }
        throw .awaits(.firstLook(directory))
    }

    /// Returns once a directory was listed, or the wait is over.
    func awaitFirstLook(at directory: InodeNumber) async {
        let begin = clock.uptime
        guard let limit = firstLooks.withLock({ $0.limit(for: directory, at: begin) }) else {
            return
        }
        let flight = listings.request(directory, at: begin)
        await flight.completion.wait(after: 0, until: begin + limit, on: clock)
        firstLooks.withLock { $0.noteWait(for: directory, of: clock.uptime - begin) }
    }

    /// Lists a directory by a listing that begins now or later.
    func listAnew(_ directory: InodeNumber) async throws {
        let now = clock.uptime
        if let former = listings.flight(of: directory), former.begin < now {
            await former.completion.wait(after: 0)
        }
        try await list(directory)
    }
}
