/// Decides when a sync ends although items are still retried, without a clock: time is an argument.
///
/// Such items stay queued. A script that waits for them would wait for hours.
package struct SyncPatience {
    /// How long nothing may get to the remote while items fail or the remote is out of reach.
    package static let limit: Duration = .seconds(30)
    /// How long the remote may be silent during a change that sends no bytes, such as a deletion, before
    /// this counts as a failure. That is as long as an upload may stand still.
    package static let silenceMax: Duration = .seconds(30)

    private var pendingMin = UInt64.max
    private var bytesSentMax: UInt64 = 0
    /// Since when items fail or the remote is out of reach, and nothing got there.
    private var failingSince: Duration?

    package init() {}

    /// Adds the items that the sync does not wait for any longer to the failures.
    ///
    /// - Parameters:
    ///   - progress: The next report.
    ///   - isSending: Whether anything is being sent now, other than `unanswered`.
    ///   - unanswered: The changes during which the remote has been silent for ``silenceMax``.
    package mutating func limit(
        _ progress: inout SyncProgress, isSending: Bool, unanswered: [SyncProgress.Failure] = [],
        at now: Duration
    ) {
        let hasMoved = progress.pending < pendingMin || progress.bytesSent > bytesSentMax
        pendingMin = min(pendingMin, progress.pending)
        bytesSentMax = max(bytesSentMax, progress.bytesSent)
        let failures =
            (progress.waiting ?? []).map { SyncProgress.Failure(path: $0.path, error: $0.error) }
            + unanswered
        let isFailing = progress.unreachable != nil || !failures.isEmpty
        let start = isFailing ? (hasMoved ? now : failingSince ?? now) : nil
        failingSince = start
        guard let start, now - start >= Self.limit, !progress.isDone,
            progress.unreachable != nil || !isSending
        else { return }
        progress.isDone = true
        progress.unsent = progress.remaining
        if let problem = progress.unreachable {
            progress.failed.insert(.init(path: "", error: problem), at: 0)
        } else {
            progress.failed += failures
        }
    }
}
