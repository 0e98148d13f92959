import NIOCore
import Synchronization
import Transport

/// Hands the answer of a daemon on, piece by piece: the head with the first piece.
final class RelaySink: HTTPBodySink {
    /// The browser reads more slowly than the daemon reports.
    struct TooSlow: Error {}

    struct Head: Sendable {
        var status: Int
        var mediaType: String?
    }

    private struct State {
        var head: Head?
        var waitingBytes = 0
    }

    /// Above the longest status report.
    private static let waitingBytesMax = 64 << 20

    let pieces: AsyncThrowingStream<ByteBuffer, any Error>
    private let continuation: AsyncThrowingStream<ByteBuffer, any Error>.Continuation
    private let state = Mutex(State())

    init() {
        (pieces, continuation) = AsyncThrowingStream.makeStream()
    }

    var isInMemory: Bool { true }

    /// The head; nil before the first piece.
    var head: Head? { state.withLock(\.head) }

    func receive(_ bytes: UnsafeRawBufferPointer, of response: Transport.HTTPResponse) throws {
        try state.withLock { state in
            state.head =
                state.head
                ?? Head(status: response.status, mediaType: response.headers["content-type"])
            state.waitingBytes += bytes.count
            if state.waitingBytes > Self.waitingBytesMax { throw TooSlow() }
        }
        continuation.yield(ByteBuffer(bytes: bytes))
    }

    /// Notes that a piece was sent to the browser.
    func noteSent(_ piece: ByteBuffer) {
        state.withLock { $0.waitingBytes -= piece.readableBytes }
    }

    /// Ends ``pieces``; called after the end of the transfer.
    func finish(throwing error: (any Error)? = nil) { continuation.finish(throwing: error) }
}
