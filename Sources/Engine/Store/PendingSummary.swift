/// The number and size of pending changes.
package struct PendingSummary: Hashable, Sendable {
    package var count: UInt64 = 0
    /// Bytes of the files among them.
    package var bytes: UInt64 = 0
    /// Changes whose last attempt failed permanently.
    package var failed: UInt64 = 0
    /// The failed changes, and those blocked by them.
    package var failedFinally: UInt64 = 0
    /// Deletions on the remote that wait for confirmation.
    package var held: UInt64 = 0
    /// Changes that are being sent now.
    package var transferring: UInt64 = 0
    /// Files that are still open for writing and whose bytes so far are sent.
    package var openAndSent: UInt64 = 0

    /// Whether nothing more can be sent in the present state.
    package var isSettled: Bool { count <= failedFinally + held + openAndSent }
}
