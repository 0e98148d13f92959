/// The bytes of files that were exchanged with the remote since the daemon's start.
package struct TrafficCounts: Codable, Hashable, Sendable {
    /// By uploads, each byte of a version once.
    package var sent: UInt64
    package var received: UInt64
    /// In the last five seconds, the bytes a second; nil for none.
    package var sentPerSecond: UInt64?
    package var receivedPerSecond: UInt64?

    package init(
        sent: UInt64, received: UInt64, sentPerSecond: UInt64? = nil,
        receivedPerSecond: UInt64? = nil
    ) {
        self.sent = sent
        self.received = received
        self.sentPerSecond = sentPerSecond
        self.receivedPerSecond = receivedPerSecond
    }
}
