/// Recognises bursts of deletions, so that a mistake on one side does not empty the other (a
/// detached disk behind the server, an `rm -rf` in the wrong folder). It knows no clock and no
/// database: time and counts are arguments.
///
/// Deletions belong to one burst as long as no minute passes between them. A burst is suspicious
/// once it has over ``countMin`` items and over a third of what is known. What the remote loses again
/// and again, as it was changed here and is created anew, is one item of it.
struct DeletionGuard {
    static let countMin = 100
    /// How many items a burst knows again; those that come later count each time.
    static let recognisedMax = 65_536
    /// How long deletions made here wait, after the last of a burst over ``countMin``: who removes a
    /// large tree would else have lost some of it there before it is over a third.
    static let pause: Duration = .seconds(5)
    /// How long they wait after the last of a suspicious burst, and at the most after the first of
    /// another one.
    static let delay: Duration = .seconds(60)
    /// How long they wait at the most, should the burst not end.
    static let delayMax: Duration = .seconds(600)

    private struct Burst {
        var start: Duration = .zero
        var last: Duration = .zero
        var count = 0
        /// How many of them have gone out.
        var sent = 0
        var isSuspicious = false
        /// How much was known when that was last reckoned; 0 before.
        var known = 0
        private var recognised: Set<InodeNumber> = []

        init() {}

        /// Begins anew where the last deletion is long ago.
        mutating func advance(to now: Duration) {
            guard count == 0 || now - last > DeletionGuard.delay else { return }
            self = Burst()
            start = now
        }

        mutating func note(_ more: Int, at now: Duration) {
            advance(to: now)
            last = now
            count += more
        }

        mutating func note(_ inode: InodeNumber, at now: Duration) {
            advance(to: now)
            guard !recognised.contains(inode) else { return }
            note(1, at: now)
            if recognised.count < DeletionGuard.recognisedMax { recognised.insert(inode) }
        }

        /// - Parameter countKnown: Asked for seldom, as it takes a while.
        mutating func look(_ countKnown: () throws -> Int) rethrows -> Bool {
            guard !isSuspicious, count > DeletionGuard.countMin, count > known / 3 else {
                return isSuspicious
            }
            known = try countKnown()
            isSuspicious = count > known / 3
            return isSuspicious
        }
    }

    private var onRemote = Burst()
    private var here = Burst()

    /// The remote has deleted an item.
    mutating func noteRemote(_ inode: InodeNumber, at now: Duration) {
        onRemote.note(inode, at: now)
    }

    /// Whether to hold what was noted last until somebody confirms.
    ///
    /// - Parameter countKnown: How many items are known, the deleted ones included.
    mutating func holdsRemote(
        at now: Duration, countKnown: () throws -> Int
    ) rethrows -> Bool {
        onRemote.advance(to: now)
        return try onRemote.look(countKnown)
    }

    /// Something that the remote has was deleted here.
    mutating func noteLocal(_ count: Int, at now: Duration) {
        here.note(count, at: now)
    }

    /// The remote has deleted one of those that were deleted here.
    mutating func noteSent() {
        if here.sent < here.count { here.sent += 1 }
    }

    /// How many deletions have to wait to be sent for these to be many: of those that were noted some
    /// may have been made anew since, which are none.
    var waitingMin: Int { max(0, Self.countMin - here.sent) }

    /// Whether ``localDue(at:countKnown:)`` has anything to reckon.
    var mayHoldLocal: Bool { here.count > Self.countMin }

    /// Whether deletions made here are so many that they wait for a minute.
    var isLocalSuspicious: Bool { here.isSuspicious }

    /// When deletions made here may go out; nil for now.
    mutating func localDue(
        at now: Duration, countKnown: () throws -> Int
    ) rethrows -> Duration? {
        guard mayHoldLocal else { return nil }
        let due =
            try here.look(countKnown)
            ? min(here.last + Self.delay, here.start + Self.delayMax)
            : min(here.last + Self.pause, here.start + Self.delay)
        return due > now ? due : nil
    }

    /// Somebody meant it: what was deleted so far is no burst any more.
    mutating func confirm() {
        (onRemote, here) = (Burst(), Burst())
    }
}
