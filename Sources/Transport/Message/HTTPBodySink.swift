/// Receives the body of a response.
///
/// Called on the transport's thread, which serves all other transfers too, so a call must not block
/// longer than a write to disk. Not called after ``HTTPTransport/send(_:into:)`` has returned.
package protocol HTTPBodySink: Sendable {
    /// Receives the next bytes, in order; they are valid only during the call.
    ///
    /// - Parameter response: The same in each call of one transfer; it distinguishes the body of a
    ///   refusal from requested content.
    /// - Throws: To end the transfer, which then throws ``TransportError/Kind/sink``.
    func receive(_ bytes: UnsafeRawBufferPointer, of response: HTTPResponse) throws
}
