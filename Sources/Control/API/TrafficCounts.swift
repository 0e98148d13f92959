/// The bytes of files that were exchanged with the remote since the daemon's start.
package struct TrafficCounts: Codable, Hashable, Sendable {
    /// By uploads, each byte of a version once.
    package var sent: UInt64
    package var received: UInt64

    package init(sent: UInt64, received: UInt64) {
        self.sent = sent
        self.received = received
    }
}
