import Engine
import Transport

/// Carries requests: the transport, or a test.
protocol S3Wire: Sendable {
    func send(
        _ request: HTTPRequest, into sink: some HTTPBodySink
    ) async throws(TransportError) -> HTTPResponse
}

extension HTTPTransport: S3Wire {}

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

extension BoundedSink: S3Sink {
    var refusal: [UInt8] { bytes }
}
