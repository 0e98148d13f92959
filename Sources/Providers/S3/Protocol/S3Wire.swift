import Engine
import Synchronization
import Transport

/// Carries requests: the transport, or a test.
protocol S3Wire: Sendable {
    func send(
        _ request: HTTPRequest, into sink: any HTTPBodySink
    ) async throws(TransportError) -> HTTPResponse
}

struct S3TransportWire: S3Wire {
    let transport: HTTPTransport

    func send(
        _ request: HTTPRequest, into sink: any HTTPBodySink
    ) async throws(TransportError) -> HTTPResponse {
        try await transport.send(request, into: sink)
    }
}

/// Receives the body of an answer or of a refusal.
protocol S3Sink: HTTPBodySink {
    /// The body, if the answer was a refusal.
    var refusal: [UInt8] { get }
}

/// A fault found in an answer while it arrives.
struct S3AnswerProblem: Error {
    let kind: ProviderError.Kind
    let reason: String
    var cause: (any Error)?
}

/// Collects an answer up to a maximum length.
final class S3AnswerSink: S3Sink {
    private let bytesMax: Int
    private let collected = Mutex<[UInt8]>([])

    init(bytesMax: Int) {
        self.bytesMax = bytesMax
    }

    var body: [UInt8] { collected.withLock { $0 } }
    var refusal: [UInt8] { body }

    /// Empties the sink and returns it.
    func restarted() -> S3AnswerSink {
        collected.withLock { $0 = [] }
        return self
    }

    func receive(_ bytes: UnsafeRawBufferPointer, of response: HTTPResponse) throws {
        try collected.withLock { collected in
            guard collected.count + bytes.count <= bytesMax else {
                throw S3AnswerProblem(kind: .corrupt, reason: "the store's answer is too long")
            }
            collected.append(contentsOf: bytes)
        }
    }
}
