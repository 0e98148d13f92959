/// Decides when a sync ends although items are still retried, without a clock: time is an argument.
///
/// Such items stay queued. A script that waits for them would wait for hours.
package struct SyncPatience {
    /// How long nothing may get to the remote while items fail or the remote is out of reach.
    package static let limit: Duration = .seconds(30)

    private var pendingMin = UInt64.max
    private var bytesSentMax: UInt64 = 0
    /// Since when items fail or the remote is out of reach, and nothing got there.
    private var failingSince: Duration?

    package init() {}

    /// Adds the items that the sync does not wait for any longer to the failures.
    ///
    /// - Parameters:
    ///   - progress: The next report.
    ///   - isSending: Whether anything is being sent now.
    package mutating func limit(
        _ progress: inout SyncProgress, isSending: Bool, at now: Duration
    ) {
        let hasMoved = progress.pending < pendingMin || progress.bytesSent > bytesSentMax
        pendingMin = min(pendingMin, progress.pending)
        bytesSentMax = max(bytesSentMax, progress.bytesSent)
        let waiting = progress.waiting ?? []
        let isFailing = progress.unreachable != nil || !waiting.isEmpty
        let start = isFailing ? (hasMoved ? now : failingSince ?? now) : nil
        failingSince = start
        guard let start, now - start >= Self.limit, !progress.isDone,
            progress.unreachable != nil || !isSending
        else { return }
        progress.isDone = true
        progress.unsent = progress.pending
        if let problem = progress.unreachable {
            progress.failed.insert(.init(path: "", error: problem), at: 0)
        } else {
            progress.failed += waiting.map { .init(path: $0.path, error: $0.error) }
        }
    }
}
