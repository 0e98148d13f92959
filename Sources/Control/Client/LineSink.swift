import Synchronization
import Transport

/// Cuts the body of a response into its lines.
final class LineSink: HTTPBodySink {
    struct TooLong: Error {}

    private struct State {
        var rest: [UInt8] = []
        var isRefusal = false
    }

    /// The lines without their ends; the last one also where it has none.
    ///
    /// Not bounded: the daemon tells five times a second at most, and each line is read at once.
    let lines: AsyncStream<[UInt8]>
    private let continuation: AsyncStream<[UInt8]>.Continuation
    private let state = Mutex(State())

    /// Far above a status report at its longest.
    private static let lineBytesMax = 64 * 1024 * 1024

    init() {
        (lines, continuation) = AsyncStream.makeStream()
    }

    /// Whether what came belongs to a status of 400 and above.
    var isRefusal: Bool { state.withLock { $0.isRefusal } }

    func receive(_ bytes: UnsafeRawBufferPointer, of response: HTTPResponse) throws {
        let whole = try state.withLock { state in
            state.isRefusal = !response.isSuccess
            return try Self.cut(bytes, rest: &state.rest)
        }
        for line in whole { continuation.yield(line) }
    }

    /// Ends ``lines``. To be called when the transfer has ended.
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
