import Foundation
import Synchronization
import TestBytes
import TestServer
import Testing
import Transport

@Suite("Abandoned requests", .timeLimit(.minutes(2)))
struct GivingUpTests {
    private let transport = HTTPTransport()

    // MARK: Time

    @Test(arguments: [false, true])
    func `a request to a server that falls silent ends`(afterTheHeader: Bool) async throws {
        try await ScriptedServer.run { _, connection in
            if afterTheHeader {
                try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345")
            }
            _ = connection.readSome(atMost: 1)
            throw POSIXError(.ECONNRESET)
        } _: { server in
            let sink = CollectingSink()
            // Long enough for a busy machine to connect and to send the first bytes.
            let limit: Duration = afterTheHeader ? .seconds(2) : .milliseconds(50)
            let error = await #expect(throws: TransportError.self) {
                try await transport.send(
                    HTTPRequest(.get, server.url("/"), stallTimeout: limit), into: sink)
            }
            #expect(error?.kind == .timedOut)
            #expect(sink.text == (afterTheHeader ? "12345" : ""))
        }
    }

    /// Method: without a length, the body lasts as long as the connection.
    @Test(arguments: [("", 500), ("why", 412), ("why", 301)])
    func `a refusal is complete, although its body does not end`(
        body: String, status: Int
    ) async throws {
        try await ScriptedServer.run { _, connection in
            try connection.write("HTTP/1.1 \(status) X\r\n\r\n\(body)")
            connection.awaitHangUp()
            throw POSIXError(.ECONNRESET)
        } _: { server in
            let answer = try await transport.send(
                HTTPRequest(
                    .delete, server.url("/"), stallTimeout: .seconds(600), timeout: .seconds(30)))
            #expect(answer.response.status == status)
            #expect(answer.body == Array(body.utf8))
        }
    }

    @Test func `a request to a server that reads no more ends`() async throws {
        try await ScriptedServer.run { _, connection in
            // Reads nothing until the other side hangs up.
            connection.awaitHangUp()
            throw POSIXError(.ECONNRESET)
        } _: { server in
            let error = await #expect(throws: TransportError.self) {
                try await transport.send(
                    HTTPRequest(
                        .put, server.url("/"), headers: [(name: "Expect", value: "")],
                        body: .source(EndlessSource {}, range: 0..<(1 << 40)),
                        stallTimeout: .milliseconds(100)))
            }
            #expect(error?.kind == .timedOut)
        }
    }

    /// Goal: an upload over a broken connection ends soon, even after its last byte, when the server
    /// may take long to answer.
    ///
    /// Method: a server that reads nothing leaves the end of a short body in the kernel.
    @Test func `a body that the kernel cannot send ends the request`() async throws {
        var options = TransportOptions()
        options.contentStallMax = .milliseconds(200)
        try await ScriptedServer.run { _, connection in
            connection.awaitHangUp()
            throw POSIXError(.ECONNRESET)
        } _: { server in
            let body = ArraySource(TestBytes.random(500_000))
            let error = await #expect(throws: TransportError.self) {
                try await HTTPTransport(options).send(
                    HTTPRequest(
                        .put, server.url("/"), headers: [(name: "Expect", value: "")],
                        body: .source(body, range: 0..<body.size),
                        stallTimeout: .seconds(600), timeout: .seconds(60)))
            }
            #expect(error?.kind == .interrupted)
        }
    }

    // MARK: Cancellation

    @Test func `cancellation stops sending and hangs up`() async throws {
        let (hungUp, hasHungUp) = AsyncStream<Void>.makeStream()
        let (started, hasStarted) = AsyncStream<Void>.makeStream()
        let reads = Mutex(0)
        let source = EndlessSource {
            reads.withLock { $0 += 1 }
            hasStarted.finish()
        }
        try await ScriptedServer.run { _, connection in
            while !connection.readSome(atMost: 1 << 20).isEmpty {}
            hasHungUp.finish()
            throw POSIXError(.ECONNRESET)
        } _: { server in
            let request = HTTPRequest(
                .put, server.url("/"), headers: [(name: "Expect", value: "")],
                body: .source(source, range: 0..<(1 << 40)))
            let sending = Task { [transport] in try await transport.send(request) }
            for await _ in started {}
            sending.cancel()
            let error = await #expect(throws: TransportError.self) { try await sending.value }
            #expect(error?.kind == .cancelled)
            let readsThen = reads.withLock { $0 }
            for await _ in hungUp {}
            #expect(reads.withLock { $0 } == readsThen)
        }
    }

    @Test func `a sink that cancels its own task receives no more`() async throws {
        let bytes = TestBytes.random(4_000_000)
        try await ScriptedServer.run { _, connection in
            try connection.answer("200 OK", [], bytes)
        } _: { server in
            let sink = CancellingSink()
            let request = HTTPRequest(.get, server.url("/"))
            let receiving = Task { [transport] in try await transport.send(request, into: sink) }
            sink.cancels(receiving)
            let error = await #expect(throws: TransportError.self) { try await receiving.value }
            #expect(error?.kind == .cancelled)
            #expect(sink.pieces == 1)
        }
    }
}
