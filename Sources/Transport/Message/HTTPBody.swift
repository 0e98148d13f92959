/// The body of a request.
package enum HTTPBody: Sendable {
    case none
    case bytes([UInt8])
    /// A part of a source, streamed from it. The range lies within the source.
    case source(any HTTPBodySource, range: Range<UInt64>)

    var byteCount: UInt64 {
        switch self {
        case .none: 0
        case .bytes(let bytes): UInt64(bytes.count)
        case .source(_, let range): UInt64(range.count)
        }
    }
}

/// Provides the bytes of a request's body.
///
/// Called on a thread where it may wait for a disk or a lock; the transfer waits for it, others do
/// not. The same bytes may be read again if the request must be sent again. Never called
/// concurrently, nor after ``HTTPTransport/send(_:into:)`` has returned.
package protocol HTTPBodySource: Sendable {
    /// Length in bytes; must not change.
    var size: UInt64 { get }

    /// Reads into `buffer` from `offset` on, at least one byte unless at the end.
    ///
    /// - Returns: The number of bytes read.
    /// - Throws: To end the transfer, which then throws ``TransportError/Kind/source``.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws -> Int
}

/// A source provided fewer bytes than its size.
package struct HTTPBodySourceEnded: Error, Hashable {
    package let offset: UInt64
}

/// Bytes in memory as a source.
struct BytesSource: HTTPBodySource {
    let bytes: [UInt8]

    var size: UInt64 { UInt64(bytes.count) }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) -> Int {
        guard offset < size else { return 0 }
        return bytes.withUnsafeBytes { bytes in
            let rest = UnsafeRawBufferPointer(rebasing: bytes[Int(offset)...].prefix(buffer.count))
            buffer.copyMemory(from: rest)
            return rest.count
        }
    }
}

/// Receives the body of a response.
///
/// Called on a thread where it may wait for a disk or a lock; the transfer waits for it, others do
/// not. Never called concurrently, nor after ``HTTPTransport/send(_:into:)`` has returned.
package protocol HTTPBodySink: Sendable {
    /// Whether it only keeps the bytes in memory, so that it may be called on the transport's thread.
    var isInMemory: Bool { get }

    /// Receives the next bytes, in order; they are valid only during the call.
    ///
    /// - Parameter response: The same in each call of one transfer; it distinguishes the body of a
    ///   refusal from requested content.
    /// - Throws: To end the transfer, which then throws ``TransportError/Kind/sink``.
    func receive(_ bytes: UnsafeRawBufferPointer, of response: HTTPResponse) throws
}

extension HTTPBodySink {
    package var isInMemory: Bool { false }
}
