import Synchronization
import Transport

/// Splits the body of a response into lines.
final class LineSink: HTTPBodySink {
    struct TooLong: Error {}
    /// The lines are read more slowly than they arrive.
    struct TooSlow: Error {}

    private struct State {
        var rest: [UInt8] = []
        var isRefusal = false
    }

    /// The lines without their ends, including an unterminated last one.
    ///
    let lines: AsyncStream<[UInt8]>
    private let continuation: AsyncStream<[UInt8]>.Continuation
    private let state = Mutex(State())

    /// Above the longest status report, whose items the daemon limits to 32 MiB.
    private static let lineBytesMax = 64 * 1024 * 1024

    /// The lines that may wait.
    private static let linesMax = 100_000

    init() {
        (lines, continuation) = AsyncStream.makeStream(
            bufferingPolicy: .bufferingOldest(Self.linesMax))
    }

    /// Whether the response has a status from 400 on.
    var isRefusal: Bool { state.withLock { $0.isRefusal } }

    func receive(_ bytes: UnsafeRawBufferPointer, of response: HTTPResponse) throws {
        let whole = try state.withLock { state in
            state.isRefusal = !response.isSuccess
            return try Self.cut(bytes, rest: &state.rest)
        }
        for line in whole {
            if case .dropped = continuation.yield(line) { throw TooSlow() }
        }
    }

    /// Ends ``lines``; called after the end of the transfer.
    func finish() {
        let rest = state.withLock { $0.rest }
        if !rest.isEmpty { continuation.yield(rest) }
        continuation.finish()
    }

    private static func cut(
        _ bytes: UnsafeRawBufferPointer, rest: inout [UInt8]
    ) throws -> [[UInt8]] {
        var lines: [[UInt8]] = []
        for byte in bytes {
            if byte == UInt8(ascii: "\n") {
                lines.append(rest)
                rest = []
            } else {
                rest.append(byte)
            }
        }
        if rest.count > lineBytesMax { throw TooLong() }
        return lines
    }
}
