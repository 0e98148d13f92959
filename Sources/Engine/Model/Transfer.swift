/// An operation on the remote that is under way, for whoever watches.
package struct Transfer: Hashable, Sendable {
    package enum Kind: String, Sendable {
        case upload, create, move, change, delete
    }

    package var kind: Kind
    /// Bytes to send; 0 where none are sent.
    package var bytesTotal: UInt64
    package var bytesSent: UInt64
}
