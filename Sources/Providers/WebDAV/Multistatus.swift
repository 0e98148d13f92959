import Engine
import Glibc
import ProviderSupport
import SystemCalls
import Transport

/// The responses in the body of a multistatus, parsed as they are requested, so that memory grows
/// neither with their number nor with the consumer's pauses.
final class Multistatus: @unchecked Sendable {  // sound: used by one task at a time
    private static let pieceBytes = 64 << 10

    private let body: MultistatusBody
    private let parser: MultistatusParser
    private var offset = 0
    private var isFinished = false

    init(_ body: MultistatusBody) throws(ProviderError) {
        self.body = body
        do {
            parser = try MultistatusParser()
        } catch {
            throw Self.unreadable(error)
        }
    }

    /// Returns the next response; nil after the last one.
    ///
    /// - Throws: `.corrupt` if the body is not a complete multistatus.
    func next() throws(ProviderError) -> WebDAVEntry? {
        while true {
            if let entry = parser.pop() { return entry }
            if isFinished { return nil }
            try parsePiece()
        }
    }

    private func parsePiece() throws(ProviderError) {
        let piece: [UInt8]
        do {
            piece = try body.bytes(at: offset, max: Self.pieceBytes)
        } catch {
            throw ProviderError(
                .busy, "the server's answer cannot be read back: \(error)", cause: error)
        }
        offset += piece.count
        isFinished = piece.isEmpty
        do {
            try parser.feed(piece)
            if isFinished { try parser.finish() }
        } catch {
            throw Self.unreadable(error)
        }
    }

    private static func unreadable(_ error: XMLError) -> ProviderError {
        ProviderError(.corrupt, "the server's answer cannot be read: \(error)")
    }
}

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

/// An unnamed temporary file, removed with its last reference.
final class SpoolFile: Sendable {
    private let descriptor: Descriptor

    init() throws(SystemError) {
        let folder = getenv("TMPDIR").map { String(cString: $0) } ?? "/var/tmp"
        var template = Array("\(folder)/apus-listing.XXXXXX".utf8CString)
        let number = mkstemp(&template)
        guard number >= 0 else { throw .last }
        _ = fcntl(number, F_SETFD, FD_CLOEXEC)
        descriptor = Descriptor(adopting: number)
        unlink(template)
    }

    func append(_ bytes: [UInt8], at offset: Int) throws(SystemError) {
        try PosixIO.write(descriptor.rawValue, bytes, at: Int64(offset))
    }

    func read(_ range: Range<Int>) throws(SystemError) -> [UInt8] {
        let bytes = try PosixIO.read(
            descriptor.rawValue, count: range.count, at: Int64(range.lowerBound))
        guard bytes.count == range.count else { throw SystemError(EIO) }
        return bytes
    }
}
