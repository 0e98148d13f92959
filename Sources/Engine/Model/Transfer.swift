/// A remote operation in progress, as shown by the status.
package struct Transfer: Hashable, Sendable {
    package enum Kind: String, Sendable {
        case upload, create, move, change, delete
    }

    package var kind: Kind
    /// Bytes to send; 0 if there are none.
    package var bytesTotal: UInt64
    package var bytesSent: UInt64
    /// The start of the current attempt.
    package var startedAt: Timestamp
    /// The last bytes of this operation that were sent or answered; at first its start.
    package var lastSignAt: Timestamp
    /// ``lastSignAt`` by the monotonic clock.
    var lastSign: Duration
}
