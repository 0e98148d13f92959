/// The number and size of pending changes.
package struct PendingSummary: Hashable, Sendable {
    package var count: UInt64 = 0
    /// Local deletions among them.
    package var deletions: UInt64 = 0
    /// Bytes of the files among them, without ``openAndSent``.
    package var bytes: UInt64 = 0
    /// Changes whose last attempt failed permanently.
    package var failed: UInt64 = 0
    /// The failed changes, and those blocked by them.
    package var failedFinally: UInt64 = 0
    /// Remote deletions that wait for a confirmation; not included in ``count``.
    package var held: UInt64 = 0
    /// Items that a pattern keeps here, of the whole mount only; not included in ``count``.
    package var excluded: UInt64 = 0
    /// Changes that are being sent.
    package var transferring: UInt64 = 0
    /// Files among them that are still open for writing, and of which nothing is left to send so far.
    package var openAndSent: UInt64 = 0

    /// The directories among them that are above the path, and still elsewhere on the remote.
    package var above: [InodeNumber] = []

    /// The number of changes that have something to send.
    package var remaining: UInt64 { count - min(count, openAndSent) }

    /// Whether nothing more can be sent in the present state.
    package var isSettled: Bool { count <= failedFinally + openAndSent }
}
