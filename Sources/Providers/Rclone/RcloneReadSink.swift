import Engine
import Synchronization
import Transport

/// Receives the bytes of a ranged read, and refuses any others.
final class RcloneReadSink: HTTPBodySink {
    private struct State {
        var next: UInt64
        var failure: ProviderError?
        var refusal: [UInt8] = []
    }

    private let range: Range<UInt64>
    /// The size of the expected version.
    private let size: UInt64
    private let sink: any ByteSink
    private let state: Mutex<State>

    private static let refusalBytesMax = 4_096

    init(range: Range<UInt64>, size: UInt64, into sink: any ByteSink) {
        self.range = range
        self.size = size
        self.sink = sink
        state = Mutex(State(next: range.lowerBound))
    }

    /// The fault in the answer; nil if it was as expected.
    var failure: ProviderError? {
        state.withLock { state in
            if let failure = state.failure { return failure }
            if !state.refusal.isEmpty {
                let text = String(decoding: state.refusal, as: UTF8.self)
                return RcloneFailure.error(reason: text)
            }
            guard state.next == range.upperBound else {
                return ProviderError(
                    .corrupt, "\(state.next - range.lowerBound) of \(range.count) bytes came")
            }
            return nil
        }
    }

    func receive(_ bytes: UnsafeRawBufferPointer, of response: HTTPResponse) throws {
        let offset = try state.withLock { state -> UInt64? in
            guard response.status == 206 || (response.status == 200 && isWhole) else {
                let room = Self.refusalBytesMax - state.refusal.count
                state.refusal += Array(bytes.prefix(max(0, room)))
                return nil
            }
            if response.status == 206, response.headers["content-range"] != expectedRange {
                let failure = ProviderError(.changed, "the file has another size")
                state.failure = failure
                throw failure
            }
            guard state.next + UInt64(bytes.count) <= range.upperBound else {
                let failure = ProviderError(.corrupt, "more bytes came than were asked for")
                state.failure = failure
                throw failure
            }
            defer { state.next += UInt64(bytes.count) }
            return state.next
        }
        guard let offset else { return }
        do {
            try sink.write(bytes, at: offset)
        } catch {
            let failure = ProviderError(.sink, "the bytes were refused", cause: error)
            state.withLock { $0.failure = failure }
            throw failure
        }
    }

    private var isWhole: Bool { range == 0..<size }

    private var expectedRange: String {
        "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(size)"
    }
}
