import HTTPTypes
import Hummingbird
import NIOCore
import Transport

/// Passes requests of the page on to the control socket of a mount's daemon.
struct Relay: Sendable {
    let transport: HTTPTransport

    /// As the daemon's.
    private static let bodyBytesMax = 4 << 20

    /// Returns the daemon's answer, whose body is passed on as it arrives. If the browser disconnects, so does
    /// the relay.
    ///
    /// - Parameter route: The path after `/v1/`, one of ``RelayedRoutes``.
    /// - Throws: `.unreachable` if the daemon does not answer.
    func answer(
        _ request: Request, _ route: String, of mount: WebMount
    ) async throws -> Response {
        var request = request
        let body = try await request.collectBody(upTo: Self.bodyBytesMax)
        let query = request.uri.query.map { "?\($0)" } ?? ""
        var relayed = Transport.HTTPRequest(
            request.method == .get ? .get : .post, "http://apus/v1/\(route)\(query)",
            unixSocketPath: mount.socketPath, stallTimeout: RelayedRoutes.stallTimeout(route))
        relayed.body = body.readableBytes == 0 ? .none : .bytes(Array(body.readableBytesView))
        relayed.waitsForTurn = false
        let (sink, transfer) = begin(relayed)
        var pieces = sink.pieces.makeAsyncIterator()
        let first: ByteBuffer?
        do {
            first = try await withTaskCancellationHandler {
                try await pieces.next()
            } onCancel: {
                transfer.cancel()
            }
        } catch {
            throw ControlError(
                .unreachable, what: "ask the daemon of \(mount.mountPoint)",
                why: (error as? TransportError)?.reason ?? "\(error)",
                remedy: "see `apus status`, and the log in its state directory")
        }
        let head = sink.head
        return Response(
            status: .init(code: head?.status ?? 502),
            headers: [.contentType: head?.mediaType ?? "application/json"],
            body: .passingOn(first, then: sink, transfer, answering: request))
    }

    /// Starts the transfer in a task of its own, which outlives the handler and ends with the body.
    private func begin(_ request: Transport.HTTPRequest) -> (RelaySink, Task<Void, Never>) {
        let sink = RelaySink()
        let task = Task { [transport] in
            do {
                _ = try await transport.send(request, into: sink)
                sink.finish()
            } catch {
                sink.finish(throwing: error)
            }
        }
        return (sink, task)
    }
}

extension ResponseBody {
    fileprivate static func passingOn(
        _ first: ByteBuffer?, then sink: RelaySink, _ transfer: Task<Void, Never>,
        answering request: Request
    ) -> ResponseBody {
        ResponseBody { writer in
            // Closures cannot capture the inout parameter; only one task at a time uses the copy.
            var output = writer
            try await withTaskCancellationHandler {
                try await request.body.consumeWithCancellationOnInboundClose { _ in
                    defer { transfer.cancel() }
                    if let first {
                        try await output.write(first)
                        sink.noteSent(first)
                    }
                    for try await piece in sink.pieces {
                        try await output.write(piece)
                        sink.noteSent(piece)
                    }
                }
            } onCancel: {
                transfer.cancel()
            }
            try await writer.finish(nil)
        }
    }
}
