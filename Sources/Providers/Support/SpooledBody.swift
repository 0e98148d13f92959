package import Engine
import Glibc
package import SystemCalls
package import Transport

/// The body of a long answer: in memory if it is short, else in an unnamed file.
///
/// The answer is received whole before it is parsed. If it were parsed while it arrives, at the
/// consumer's pace, its request would occupy one of the host's slots, for which the consumer's own
/// requests may be waiting, and the server might give up.
package final class SpooledBody: HTTPBodySink, @unchecked Sendable {
    // Sound: the transport makes one call at a time, and the body is read after the transfer.

    /// A longer body goes to a file.
    package static let memoryBytesMax = 256 << 10
    /// Several million objects; a body without an end must not fill the disk.
    package static let defaultBytesMax = 2 << 30

    /// The directory of the files.
    package static var folder: String { getenv("TMPDIR").map { String(cString: $0) } ?? "/var/tmp" }

    private let status: Int
    private let folder: String
    private let bytesMax: Int
    private let refusalBytesMax: Int
    private var buffer: [UInt8] = []
    private var file: SpoolFile?
    /// The bytes in ``file``; those in ``buffer`` follow them.
    private var stored = 0

    /// - Parameters:
    ///   - status: That of the expected answer; any other is a refusal.
    ///   - bytesMax: The limit of the bytes of the expected answer; a longer one fails with ``TooLong``.
    ///   - refusalBytesMax: The limit of the bytes kept of a refusal.
    ///   - folder: The directory of the file.
    package init(
        ofStatus status: Int, bytesMax: Int = defaultBytesMax, refusalBytesMax: Int,
        folder: String = folder
    ) {
        self.folder = folder
        self.bytesMax = bytesMax
        self.status = status
        self.refusalBytesMax = refusalBytesMax
    }

    /// The beginning of the body of a refusal.
    package var refusal: [UInt8] { buffer }

    package func receive(_ bytes: UnsafeRawBufferPointer, of response: HTTPResponse) throws {
        guard response.status == status else {
            buffer += bytes.prefix(max(0, refusalBytesMax - buffer.count))
            return
        }
        guard stored + buffer.count + bytes.count <= bytesMax else {
            throw TooLong(bytesMax: bytesMax)
        }
        buffer += bytes
        guard buffer.count > Self.memoryBytesMax else { return }
        do throws(SystemError) {
            if file == nil { file = try SpoolFile(in: folder) }
            try file?.append(buffer, at: stored)
        } catch {
            throw DiskError(error, storingIn: folder)
        }
        stored += buffer.count
        buffer.removeAll(keepingCapacity: true)
    }

    package struct TooLong: Error, CustomStringConvertible {
        let bytesMax: Int

        package var description: String { "it has more than \(bytesMax) bytes" }
    }

    /// - Returns: At most `max` bytes; none at the end.
    package func bytes(at offset: Int, max: Int) throws(SystemError) -> [UInt8] {
        guard let file, offset < stored else {
            return Array(buffer.dropFirst(offset - stored).prefix(max))
        }
        return try file.read(offset..<min(offset + max, stored))
    }
}

/// An unnamed temporary file, removed with its last reference.
private final class SpoolFile: Sendable {
    private let descriptor: Descriptor

    init(in folder: String) throws(SystemError) {
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

extension DiskError {
    /// Describes the failure to store an answer in a file.
    package init(_ error: SystemError, storingIn folder: String) {
        let kind: Kind =
            switch error.code {
            case ENOSPC, EDQUOT: .full
            case ENOENT, ENOTDIR: .missing
            case EACCES, EPERM, EROFS: .denied
            case EMFILE, ENFILE: .tooManyOpen
            default: .failed
            }
        self.init(kind, attempt: "store the answer in \(folder)", reason: "\(error)")
    }
}

extension ProviderError {
    /// Converts the failure to store an answer in a ``SpooledBody``. The remote has answered.
    ///
    /// - Parameters:
    ///   - sender: `the server`.
    ///   - tooLong: The kind of error if the answer is too long.
    package init(_ error: TransportError, storingAnswerOf sender: String, tooLong: Kind) {
        let cause = error.cause ?? error
        let failure = cause as? DiskError
        let isCurable = failure.map { [.full, .missing, .denied].contains($0.kind) } ?? false
        self.init(
            cause is SpooledBody.TooLong ? tooLong : .busy,
            "\(sender)'s answer cannot be stored: "
                + (failure.map { "\($0.attempt): \($0.reason)" } ?? "\(cause)"),
            remedy: isCurable
                ? "free space there, or mount with TMPDIR set to a directory with more" : nil,
            cause: cause)
    }
}
