import Dispatch
import Synchronization
import Transport

/// Collects a body and its response.
final class CollectingSink: HTTPBodySink {
    private let state = Mutex<(bytes: [UInt8], responses: Set<HTTPResponse>)>(([], []))

    var bytes: [UInt8] { state.withLock { $0.bytes } }
    var text: String { String(decoding: bytes, as: UTF8.self) }
    /// The response that the bytes belong to.
    var responses: Set<HTTPResponse> { state.withLock { $0.responses } }

    func receive(_ bytes: UnsafeRawBufferPointer, of response: HTTPResponse) {
        state.withLock { state in
            state.bytes.append(contentsOf: bytes)
            state.responses.insert(response)
        }
    }
}

/// Cancels its own task with the first piece.
final class CancellingSink: HTTPBodySink {
    private let state = Mutex<(task: Task<HTTPResponse, any Error>?, pieces: Int)>((nil, 0))
    private let isReady = DispatchSemaphore(value: 0)

    var pieces: Int { state.withLock { $0.pieces } }

    func cancels(_ task: Task<HTTPResponse, any Error>) {
        state.withLock { $0.task = task }
        isReady.signal()
    }

    func receive(_ bytes: UnsafeRawBufferPointer, of response: HTTPResponse) {
        if pieces == 0 { isReady.wait() }
        let task = state.withLock { state in
            state.pieces += 1
            return state.task
        }
        task?.cancel()
    }
}

/// Bytes in memory, with a call before each read.
struct ArraySource: HTTPBodySource {
    let bytes: [UInt8]
    var size: UInt64
    var onRead: @Sendable (UInt64) throws -> Void

    init(
        _ bytes: [UInt8], size: UInt64? = nil,
        onRead: @escaping @Sendable (UInt64) throws -> Void = { _ in }
    ) {
        self.bytes = bytes
        self.size = size ?? UInt64(bytes.count)
        self.onRead = onRead
    }

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) throws -> Int {
        try onRead(offset)
        let rest = bytes[min(Int(offset), bytes.count)...].prefix(buffer.count)
        buffer.copyBytes(from: rest)
        return rest.count
    }
}

/// An endless source of zeros.
struct EndlessSource: HTTPBodySource {
    let size: UInt64 = 1 << 50
    let onRead: @Sendable () -> Void

    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: UInt64) -> Int {
        onRead()
        buffer.initializeMemory(as: UInt8.self, repeating: 0)
        return buffer.count
    }
}
