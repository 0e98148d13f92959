import HTTPTypes
import Hummingbird
import NIOCore

extension Response {
    /// Returns a value as JSON, with a line end for terminals.
    static func json(
        _ value: some Encodable, status: HTTPResponse.Status = .ok
    ) throws -> Response {
        Response(
            status: status, headers: [.contentType: "application/json"],
            body: .init(byteBuffer: try line(value)))
    }

    /// Streams values, a line of JSON each. If the client disconnects, `produce` is cancelled. An error
    /// that it throws becomes the last line, since the head has already been sent.
    static func lines<Value: Encodable & Sendable>(
        answering request: Request,
        _ produce:
            @escaping @Sendable (
                _ send: (Value) async throws -> Void
            ) async throws -> Void
    ) -> Response {
        let body = ResponseBody { writer in
            // Closures cannot capture the inout parameter; only one task at a time uses the copy.
            var lines = writer
            try await request.body.consumeWithCancellationOnInboundClose { _ in
                do {
                    try await produce { try await lines.write(try line($0)) }
                } catch {
                    try Task.checkCancellation()
                    let failure = ErrorBody(error: ControlError(wrapping: error).problem)
                    try await lines.write(try line(failure))
                }
            }
            try await writer.finish(nil)
        }
        return Response(
            status: .ok, headers: [.contentType: "application/x-ndjson"], body: body)
    }
}

private func line(_ value: some Encodable) throws -> ByteBuffer {
    var buffer = ByteBuffer(bytes: try ControlJSON.encode(value))
    buffer.writeString("\n")
    return buffer
}

extension ControlError {
    /// Converts any error for the API.
    init(wrapping error: any Error) {
        self =
            error as? ControlError
            ?? ControlError(.failed, what: "answer the request", why: "\(error)")
    }
}
