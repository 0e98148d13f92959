/// Recognises bursts of deletions, so that a mistake on one side (a detached disk behind the
/// server, an `rm -rf` in the wrong folder) does not empty the other. Has no clock and no database:
/// time and counts are arguments.
///
/// Deletions at most one minute apart belong to one burst. A burst is suspicious once it exceeds
/// ``countMin`` items and a third of the known items. An item that the remote loses repeatedly,
/// because it was changed locally and recreated, counts once.
struct DeletionGuard {
    static let countMin = 100
    /// Maximum number of items that a burst recognises; later ones count each time.
    static let recognisedMax = 65_536
    /// Delay of local deletions after the last one of a burst over ``countMin``. Without it, part
    /// of a large tree would be deleted on the remote before the burst exceeds a third.
    static let pause: Duration = .seconds(5)
    /// Delay after the last deletion of a suspicious burst, and maximum delay after the first
    /// deletion of any other burst.
    static let delay: Duration = .seconds(60)
    /// Maximum delay if a suspicious burst does not end.
    static let delayMax: Duration = .seconds(600)

    private struct Burst {
        var start: Duration = .zero
        var last: Duration = .zero
        var count = 0
        /// Number of deletions already sent.
        var sent = 0
        var isSuspicious = false
        /// Number of known items at the last count; 0 before the first.
        var known = 0
        private var recognised: Set<InodeNumber> = []

        /// Starts a new burst if the last deletion is longer ago than ``DeletionGuard/delay``.
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

        /// - Parameter countKnown: Called rarely, because counting is slow.
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

    /// Records a deletion on the remote.
    mutating func noteRemote(_ inode: InodeNumber, at now: Duration) {
        onRemote.note(inode, at: now)
    }

    /// Records deletions on the remote.
    mutating func noteRemote(_ inodes: [InodeNumber], at now: Duration) {
        for inode in inodes { noteRemote(inode, at: now) }
    }

    /// Returns whether to hold the latest remote deletions until the user confirms them.
    ///
    /// - Parameter countKnown: The number of known items, deleted ones included.
    mutating func holdsRemote(
        at now: Duration, countKnown: () throws -> Int
    ) rethrows -> Bool {
        onRemote.advance(to: now)
        return try onRemote.look(countKnown)
    }

    /// Records local deletions of items that are on the remote.
    mutating func noteLocal(_ count: Int, at now: Duration) {
        here.note(count, at: now)
    }

    /// Records that the remote has carried out a local deletion.
    mutating func noteSent() {
        if here.sent < here.count { here.sent += 1 }
    }

    /// Number of pending deletions above which a burst is large. Recorded deletions may have been
    /// undone since, by creating the item again; those no longer count.
    var waitingMin: Int { max(0, Self.countMin - here.sent) }

    /// Whether ``localDue(at:countKnown:)`` needs to count.
    var mayHoldLocal: Bool { here.count > Self.countMin }

    /// Whether the burst of local deletions is suspicious, so that it is held for a minute.
    var isLocalSuspicious: Bool { here.isSuspicious }

    /// Returns when local deletions may be sent; nil means now.
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

    /// Forgets the bursts of both sides, after the user has confirmed them.
    mutating func confirm() {
        (onRemote, here) = (Burst(), Burst())
    }
}
