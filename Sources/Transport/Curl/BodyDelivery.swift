import Synchronization
import SystemCalls

/// Takes the body of one answer from the transport's thread to its sink.
///
/// A sink may wait for a disk or a lock. So it is called on a thread of a pool, and the transport's
/// thread only copies the bytes. If the sink falls behind by ``bytesMax``, or all sinks together
/// by the pool's limit, libcurl is paused, and with it the connection.
///
/// libcurl passes on 16 KiB at a time. Bytes that arrive together are joined to longer chunks, as a sink
/// may take a lock and write to a file for each.
final class BodyDelivery: Sendable {
    /// How many bytes may wait for the sink.
    static let bytesMax = 1 << 20
    /// The length up to which bytes are joined.
    static let chunkBytes = 128 << 10

    enum Acceptance {
        case accepted
        /// Offer the bytes again after `onChange` was called.
        case full
        /// The sink has failed.
        case failed(any Error)
    }

    typealias EndHandler = @Sendable ((any Error)?) -> Void

    private struct Chunk {
        var bytes: [UInt8]
        let response: HTTPResponse
        let answer: Int
    }

    private struct State {
        var chunks: [Chunk] = []
        /// The memory of a chunk that was delivered, for the next one.
        var spare: [UInt8] = []
        var waitingBytes = 0
        /// Whether a job of the pool is at work or queued, or ``start()`` is due.
        var isRunning = false
        var isStartDue = false
        var isPaused = false
        var failure: (any Error)?
        var onChange: (@Sendable () -> Void)?
        var onEnd: EndHandler?

        mutating func append(
            _ bytes: UnsafeRawBufferPointer, of response: HTTPResponse, answer: Int
        ) {
            waitingBytes += bytes.count
            if let last = chunks.indices.last, chunks[last].answer == answer,
                chunks[last].bytes.count + bytes.count <= chunkBytes
            {
                chunks[last].bytes.reserveCapacity(chunkBytes)
                return chunks[last].bytes.append(contentsOf: bytes)
            }
            var memory: [UInt8] = []
            swap(&memory, &spare)
            memory.append(contentsOf: bytes)
            chunks.append(Chunk(bytes: memory, response: response, answer: answer))
        }
    }

    private let sink: any HTTPBodySink
    /// nil if the sink is called on the transport's thread.
    private let pool: BodyPool?
    private let state = Mutex(State())

    init(into sink: any HTTPBodySink, on pool: BodyPool) {
        self.sink = sink
        self.pool = sink.isInMemory ? nil : pool
    }

    deinit {
        // Those that a failure or a cancellation has dropped.
        pool?.noteWaiting(-state.withLock(\.waitingBytes))
    }

    /// Sets the handler that is called, on any thread, when a full delivery has room again, or when
    /// the sink has failed.
    func onChange(_ handler: @escaping @Sendable () -> Void) {
        state.withLock { $0.onChange = handler }
    }

    /// Whether libcurl is paused because the sink fell behind.
    var isPaused: Bool { state.withLock(\.isPaused) }

    var failure: (any Error)? { state.withLock(\.failure) }

    /// Passes bytes on to the sink, in order, with the next ``start()``.
    ///
    /// - Parameter answer: The number of the answer to which the bytes belong, as libcurl may ask again.
    func append(
        _ bytes: UnsafeRawBufferPointer, of response: HTTPResponse, answer: Int
    ) -> Acceptance {
        guard let pool else {
            do {
                try sink.receive(bytes, of: response)
                return .accepted
            } catch {
                state.withLock { $0.failure = error }
                return .failed(error)
            }
        }
        return state.withLock { state in
            if let failure = state.failure { return .failed(failure) }
            // A delivery without bytes would not be told that others have left room.
            let hasRoom =
                state.waitingBytes == 0 || state.waitingBytes < Self.bytesMax && pool.hasRoom
            guard hasRoom else {
                state.isPaused = true
                return .full
            }
            state.append(bytes, of: response, answer: answer)
            pool.noteWaiting(bytes.count)
            if !state.isRunning { (state.isRunning, state.isStartDue) = (true, true) }
            return .accepted
        }
    }

    /// Begins to call the sink, if there are bytes for it and no job is at work.
    func start() {
        guard let pool else { return }
        let isDue = state.withLock { state in
            defer { state.isStartDue = false }
            return state.isStartDue
        }
        if isDue { pool.run { self.work() } }
    }

    /// Drops the bytes that still wait: the delivery then fails with `CancellationError`. May be
    /// called on any thread.
    func cancel() {
        state.withLock { state in
            guard !state.chunks.isEmpty else { return }
            state.chunks = []
            state.failure = state.failure ?? CancellationError()
        }
    }

    /// Calls `handler` with the sink's error, if any, once the sink has all bytes and is not called
    /// any more.
    func end(_ handler: @escaping EndHandler) {
        let (isIdle, failure) = state.withLock { state in
            state.onChange = nil
            if state.isRunning { state.onEnd = handler }
            return (!state.isRunning, state.failure)
        }
        if isIdle { handler(failure) }
    }

    // MARK: On a thread of the pool

    private func work() {
        while var chunk = next() {
            do {
                try chunk.bytes.withUnsafeBytes { try sink.receive($0, of: chunk.response) }
                noteDelivery(of: &chunk.bytes)
            } catch {
                noteFailure(error)
            }
        }
    }

    /// - Returns: nil if none is left; the job then ends.
    private func next() -> Chunk? {
        let step = state.withLock { state -> (chunk: Chunk?, onEnd: EndHandler?) in
            guard state.chunks.isEmpty else { return (state.chunks.removeFirst(), nil) }
            state.isRunning = false
            return (nil, state.onEnd.take())
        }
        if let onEnd = step.onEnd { onEnd(failure) }
        return step.chunk
    }

    private func noteDelivery(of bytes: inout [UInt8]) {
        let count = bytes.count
        bytes.removeAll(keepingCapacity: true)
        let onChange = state.withLock { state -> (@Sendable () -> Void)? in
            if bytes.capacity >= Self.chunkBytes { swap(&state.spare, &bytes) }
            state.waitingBytes -= count
            pool?.noteWaiting(-count)
            guard state.isPaused, state.waitingBytes <= Self.bytesMax / 2 else { return nil }
            state.isPaused = false
            return state.onChange
        }
        onChange?()
    }

    private func noteFailure(_ error: any Error) {
        let onChange = state.withLock { state in
            state.failure = error
            state.chunks = []
            state.isPaused = false
            return state.onChange
        }
        onChange?()
    }
}
