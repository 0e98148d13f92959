import ProviderSupport
import SystemCalls
import Transport

/// The body of a multistatus: in memory if it is short, else in an unnamed file.
///
/// The answer is received whole before it is parsed. If it were parsed while it arrives, at the
/// consumer's pace, its request would occupy one of the host's slots, for which the consumer's own
/// requests may be waiting, and the server might give up.
final class MultistatusBody: HTTPBodySink, @unchecked Sendable {
    // Sound: the transport makes one call at a time, and the body is read after the transfer.

    /// A longer body goes to a file.
    static let memoryBytesMax = 256 << 10
    /// Several million responses; a body without an end must not fill the disk.
    static let bytesMax = 2 << 30

    private var buffer: [UInt8] = []
    private var file: SpoolFile?
    /// The bytes in ``file``; those in ``buffer`` follow them.
    private var stored = 0

    /// The beginning of the body of a refusal.
    var refusal: [UInt8] { buffer }

    func receive(_ bytes: UnsafeRawBufferPointer, of response: HTTPResponse) throws {
        guard response.status == 207 else {
            buffer += bytes.prefix(max(0, WebDAVClient.answerBytesMax - buffer.count))
            return
        }
        guard stored + buffer.count + bytes.count <= Self.bytesMax else { throw TooLong() }
        buffer += bytes
        guard buffer.count > Self.memoryBytesMax else { return }
        let file = try self.file ?? SpoolFile()
        self.file = file
        try file.append(buffer, at: stored)
        stored += buffer.count
        buffer.removeAll(keepingCapacity: true)
    }

    struct TooLong: Error, CustomStringConvertible {
        var description: String { "it has more than \(bytesMax) bytes" }
    }

    /// - Returns: At most `max` bytes; none at the end.
    func bytes(at offset: Int, max: Int) throws(SystemError) -> [UInt8] {
        guard let file, offset < stored else {
            return Array(buffer.dropFirst(offset - stored).prefix(max))
        }
        return try file.read(offset..<min(offset + max, stored))
    }
}
