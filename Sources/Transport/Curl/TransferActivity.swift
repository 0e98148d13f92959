/// The bytes that a transfer has moved, and when.
///
/// Bytes that are received count at the end of a round, see ``TransferRound``.
struct TransferActivity {
    private(set) var progress: TransferProgress
    private var stallWatch: StallWatch
    /// The body bytes received in the current round; nil if the transfer is not in it.
    private var receivedInRound: Int?

    init(_ stallWatch: StallWatch, at now: ContinuousClock.Instant) {
        progress = TransferProgress(at: now)
        self.stallWatch = stallWatch
    }

    /// Notes that the request leaves the queue: its time begins again.
    mutating func start(at now: ContinuousClock.Instant) {
        stallWatch.noteActivity(at: now)
        progress = TransferProgress(at: now)
    }

    /// Notes that the transfer has not stalled.
    mutating func postpone(at now: ContinuousClock.Instant) {
        stallWatch.noteActivity(at: now)
    }

    /// As `TransferProgress.note`.
    mutating func note(
        sent: Int = 0, upTo position: UInt64 = 0, received: Int = 0, at now: ContinuousClock.Instant
    ) -> Bool {
        stallWatch.noteActivity(at: now)
        return progress.note(sent: sent, upTo: position, received: received, at: now)
    }

    mutating func takeUncountedBytes() -> UInt64 { progress.takeUncountedBytes() }

    // MARK: Rounds

    /// The bytes of the body that have come, with those of the current round.
    var receivedBytes: UInt64 { progress.receivedBytes + UInt64(receivedInRound ?? 0) }

    /// Notes bytes of the answer for the end of the round.
    ///
    /// - Returns: Whether they are the first of the round.
    mutating func noteReception(_ bytes: Int) -> Bool {
        defer { receivedInRound = (receivedInRound ?? 0) + bytes }
        return receivedInRound == nil
    }

    /// Ends the round, and returns the bytes received in it.
    mutating func takeReceived() -> Int { receivedInRound.take() ?? 0 }

    // MARK: Stalls

    func nextStallCheck(
        _ phase: StallWatch.Phase, from now: ContinuousClock.Instant
    ) -> ContinuousClock.Instant {
        stallWatch.nextCheck(phase, from: now)
    }

    func isStalled(_ phase: StallWatch.Phase, at now: ContinuousClock.Instant) -> Bool {
        stallWatch.isStalled(phase, at: now)
    }
}
