/// What a request carries.
package enum HTTPBody: Sendable {
    case none
    case bytes([UInt8])
    /// A part of a source, streamed from it. The range lies within the source.
    case source(any HTTPBodySource, range: Range<UInt64>)

    /// Its length.
    var byteCount: UInt64 {
        switch self {
        case .none: 0
        case .bytes(let bytes): UInt64(bytes.count)
        case .source(_, let range): UInt64(range.count)
        }
    }
}

/// Gives the bytes of a request's body as they are sent.
///
/// Calls come on the transport's thread, which serves every other transfer too: they block no
/// longer than a read from disk. The same bytes may be asked for again, if a server wants the
/// request a second time. None comes after ``HTTPTransport/send(_:into:)`` has returned.
package protocol HTTPBodySource: Sendable {
    /// Length in bytes; it never changes.
    var size: UInt64 { get }

    /// Reads into `buffer` from `offset` on, at least one byte if there is any.
    ///
    /// - Returns: The bytes read.
    /// - Throws: To end the transfer, which then throws ``TransportError/Kind/source``.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws -> Int
}

/// A source gave fewer bytes than it said it had.
package struct HTTPBodySourceEnded: Error, Hashable {
    /// Where it gave nothing more.
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
