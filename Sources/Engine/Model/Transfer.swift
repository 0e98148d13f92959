/// A remote operation in progress, as shown by the status.
package struct Transfer: Hashable, Sendable {
    package enum Kind: String, Sendable {
        case upload, create, move, change, delete
    }

    package var kind: Kind
    /// Bytes to send; 0 if there are none.
    package var bytesTotal: UInt64
    package var bytesSent: UInt64
}
