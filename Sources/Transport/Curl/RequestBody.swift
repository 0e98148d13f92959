/// The body of a request as libcurl reads it: a part of a source, and a position in it.
struct RequestBody {
    private let source: any HTTPBodySource
    private let range: Range<UInt64>
    /// The offset of the next read, counted from the start of the range. libcurl may set it back.
    private(set) var position: UInt64 = 0

    /// - Returns: nil for a request without a body.
    init?(_ body: HTTPBody) {
        switch body {
        case .none: return nil
        case .bytes(let bytes):
            (source, range) = (BytesSource(bytes: bytes), 0..<UInt64(bytes.count))
        case .source(let source, let range): (self.source, self.range) = (source, range)
        }
    }

    var byteCount: UInt64 { UInt64(range.count) }
    var isAtEnd: Bool { position >= byteCount }

    /// - Returns: The bytes read; 0 at the end.
    /// - Throws: The source's error, or ``HTTPBodySourceEnded``.
    mutating func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        guard !isAtEnd else { return 0 }
        let piece = UnsafeMutableRawBufferPointer(
            rebasing: buffer.prefix(Int(clamping: byteCount - position)))
        let offset = range.lowerBound + position
        let count = try source.read(into: piece, at: offset)
        guard count > 0 else { throw HTTPBodySourceEnded(offset: offset) }
        position += UInt64(count)
        return count
    }

    mutating func seek(to offset: UInt64) {
        position = offset
    }
}
