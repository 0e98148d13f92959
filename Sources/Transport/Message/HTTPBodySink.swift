/// Takes the body of a response as it arrives.
///
/// Calls come one after the other, on the transport's thread, which serves every other transfer
/// too: they block no longer than a write to disk. None comes after ``HTTPTransport/send(_:into:)``
/// has returned.
package protocol HTTPBodySink: Sendable {
    /// Takes the next bytes, in order; they are valid during the call only.
    ///
    /// - Parameter response: The same in every call of one transfer, so that the body of a refusal
    ///   need not be mistaken for what was asked for.
    /// - Throws: To end the transfer, which then throws ``TransportError/Kind/sink``.
    func receive(_ bytes: UnsafeRawBufferPointer, of response: HTTPResponse) throws
}
