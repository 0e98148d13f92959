/// Parses the header of an answer line by line, within limits.
struct HeaderReader {
    enum Progress: Equatable {
        case more
        /// The header is complete; see ``HeaderReader/headers``.
        case complete
        case tooLarge
    }

    static let fieldsMax = 256
    static let bytesMax = 128 * 1024

    private(set) var headers = HTTPHeaders()
    private var count = 0
    private var bytes = 0
    private var isComplete = false

    /// Reads one line, including its end.
    ///
    /// A status line starts a new answer: an interim answer or a request for credentials may come
    /// first. Lines after the empty line are trailers, which are ignored.
    mutating func read(_ line: UnsafeRawBufferPointer) -> Progress {
        let text = Self.trimmed(line[...])
        if text.starts(with: "HTTP/".utf8) {
            self = HeaderReader()
            return .more
        }
        count += 1
        bytes += line.count
        guard count <= Self.fieldsMax, bytes <= Self.bytesMax else { return .tooLarge }
        if isComplete { return .more }
        if text.isEmpty {
            isComplete = true
            return .complete
        }
        if line.first == 0x20 || line.first == 0x09 {
            headers.fold(String(decoding: text, as: UTF8.self))
        } else if let colon = text.firstIndex(of: UInt8(ascii: ":")) {
            let name = Self.trimmed(text[..<colon])
            let value = Self.trimmed(text[(colon + 1)...])
            headers.append(
                String(decoding: name, as: UTF8.self), String(decoding: value, as: UTF8.self))
        }
        return .more
    }

    /// Removes blanks and line ends on both sides.
    private static func trimmed(
        _ bytes: Slice<UnsafeRawBufferPointer>
    ) -> Slice<UnsafeRawBufferPointer> {
        let isBlank = { (byte: UInt8) in byte == 0x20 || (0x09...0x0D).contains(byte) }
        guard let first = bytes.firstIndex(where: { !isBlank($0) }),
            let last = bytes.lastIndex(where: { !isBlank($0) })
        else { return bytes[bytes.startIndex..<bytes.startIndex] }
        return bytes[first...last]
    }
}
