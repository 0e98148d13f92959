import HTTPTypes
import Hummingbird
import NIOCore

extension Response {
    /// One value as JSON, with a line end for terminals.
    static func json(
        _ value: some Encodable, status: HTTPResponse.Status = .ok
    ) throws -> Response {
        Response(
            status: status, headers: [.contentType: "application/json"],
            body: .init(byteBuffer: try line(value)))
    }

    /// Values as they come, a line of JSON each. The client's hanging up cancels `produce`; what
    /// that throws becomes the last line, since the head has long been sent.
    static func lines<Value: Encodable & Sendable>(
        answering request: Request,
        _ produce:
            @escaping @Sendable (
                _ send: (Value) async throws -> Void
            ) async throws -> Void
    ) -> Response {
        let body = ResponseBody { writer in
            // The writer is an inout existential, which no closure may keep; it is used by one task
            // at a time.
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
    /// Any error as one that the API can carry.
    init(wrapping error: any Error) {
        self =
            error as? ControlError
            ?? ControlError(.failed, what: "answer the request", why: "\(error)")
    }
}
