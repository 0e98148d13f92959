/// What is not on the remote yet, in numbers.
package struct PendingSummary: Hashable, Sendable {
    package var count: UInt64 = 0
    /// Bytes of the files among them.
    package var bytes: UInt64 = 0
    /// Those whose last attempt failed for good.
    package var failed: UInt64 = 0
    /// They, and those that wait for them.
    package var failedFinally: UInt64 = 0
    /// Those that the remote deleted, and that somebody is to confirm.
    package var held: UInt64 = 0
    /// Those that are being sent now.
    package var transferring: UInt64 = 0
    /// Those that wait only for their writer to close or write: the bytes so far are sent.
    package var openAndSent: UInt64 = 0

    /// Whether nothing more can be sent as things are.
    package var isSettled: Bool { count <= failedFinally + held + openAndSent }
}
