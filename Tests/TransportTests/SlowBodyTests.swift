import Dispatch
import Synchronization
import TestBytes
import TestServer
import Testing
import Transport

/// Goal: a body whose disk or lock is slow delays no other transfer, and takes no memory meanwhile.
@Suite("Bodies that wait for a disk", .timeLimit(.minutes(2)))
struct SlowBodyTests {
    private let transport = HTTPTransport()

    @Test func `a sink that waits delays no other transfer, and pauses its own`() async throws {
        let bytes = TestBytes.random(20 << 20)
        let received = Count()
        try await ScriptedServer.run { request, connection in
            try connection.answer("200 OK", [], request.target == "/large" ? bytes : [1])
        } _: { server in
            let sink = GatedSink()
            async let large = transport.send(
                HTTPRequest(
                    .get, server.url("/large"), stallTimeout: .milliseconds(500),
                    onProgress: { received.value = $1 }),
                into: sink)
            await sink.begun()
            for _ in 0..<20 {
                let small = CollectingSink()
                _ = try await transport.send(HTTPRequest(.get, server.url("/small")), into: small)
                #expect(small.bytes == [1])
            }
            // The transfer waits for its sink, which is no stall.
            try await Task.sleep(for: .seconds(1))
            #expect(received.value <= 2 << 20)
            sink.open()
            #expect(try await large.status == 200)
            #expect(sink.collected.bytes == bytes)
        }
    }

    @Test func `a source that waits delays no other transfer`() async throws {
        let bytes = TestBytes.random(3 << 20)
        try await ScriptedServer.run { request, connection in
            if request["Expect"] != nil { try connection.write("HTTP/1.1 100 Continue\r\n\r\n") }
            try connection.answer("200 OK", [], connection.read(request.bodyBytes))
        } _: { server in
            let gate = Gate()
            let source = ArraySource(bytes) { offset in if offset >= 1 << 20 { gate.wait() } }
            let sink = CollectingSink()
            async let large = transport.send(
                HTTPRequest(
                    .put, server.url("/large"),
                    body: .source(source, range: 0..<UInt64(bytes.count)),
                    stallTimeout: .milliseconds(500)),
                into: sink)
            await gate.begun()
            for _ in 0..<20 {
                let answer = try await transport.send(HTTPRequest(.get, server.url("/small")))
                #expect(answer.response.status == 200)
            }
            try await Task.sleep(for: .seconds(1))
            gate.open()
            #expect(try await large.status == 200)
            #expect(sink.bytes == bytes)
        }
    }

    @Test func `a sink that fails while the server is silent ends the transfer`() async throws {
        try await ScriptedServer.run { _, connection in
            try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345")
            connection.awaitHangUp()
        } _: { server in
            let error = await #expect(throws: TransportError.self) {
                try await transport.send(HTTPRequest(.get, server.url("/")), into: FailingSink())
            }
            #expect(error?.kind == .sink)
        }
    }

    /// The sink is in use while the request is cancelled; the call waits for it.
    @Test func `a cancelled request returns once its sink is free`() async throws {
        let bytes = TestBytes.random(4 << 20)
        try await ScriptedServer.run { _, connection in
            try connection.answer("200 OK", [], bytes)
        } _: { server in
            let sink = GatedSink()
            let task = Task {
                defer { sink.noteReturn() }
                return try await transport.send(
                    HTTPRequest(.get, server.url("/")), into: sink)
            }
            await sink.begun()
            task.cancel()
            sink.open()
            await #expect(throws: TransportError.self) { _ = try await task.value }
            #expect(!sink.wasUsedAfterReturn)
            #expect(sink.collected.bytes.count < bytes.count)
        }
    }

    /// Method: all bytes have come, but the sink has only begun with the first ones.
    @Test func `a request that is cancelled before its sink has all bytes says so`() async throws {
        let bytes = TestBytes.random(900_000)
        try await ScriptedServer.run { _, connection in
            try connection.answer("200 OK", [], bytes)
        } _: { server in
            let sink = GatedSink()
            let (arrival, continuation) = AsyncStream<Void>.makeStream()
            let task = Task {
                try await transport.send(
                    HTTPRequest(
                        .get, server.url("/"),
                        onProgress: { if $1 == bytes.count { continuation.finish() } }),
                    into: sink)
            }
            for await _ in arrival {}
            task.cancel()
            sink.open()
            let error = await #expect(throws: TransportError.self) { _ = try await task.value }
            #expect(error?.kind == .cancelled)
        }
    }
}

private final class Count: Sendable {
    private let state = Mutex<UInt64>(0)

    var value: UInt64 {
        get { state.withLock { $0 } }
        set { state.withLock { $0 = newValue } }
    }
}

/// Lets callers wait until it is opened.
private final class Gate: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)
    private let start: (stream: AsyncStream<Void>, continuation: AsyncStream<Void>.Continuation) =
        AsyncStream.makeStream()

    func wait() {
        start.continuation.finish()
        semaphore.wait()
        semaphore.signal()
    }

    /// Returns once a caller waits.
    func begun() async { for await _ in start.stream {} }

    func open() { semaphore.signal() }
}

/// Collects a body once it is opened.
private final class GatedSink: HTTPBodySink {
    let collected = CollectingSink()
    private let gate = Gate()
    private let uses = Mutex<(hasReturned: Bool, isLate: Bool)>((false, false))

    var wasUsedAfterReturn: Bool { uses.withLock(\.isLate) }

    func begun() async { await gate.begun() }

    func open() { gate.open() }

    func noteReturn() { uses.withLock { $0.hasReturned = true } }

    func receive(_ bytes: UnsafeRawBufferPointer, of response: HTTPResponse) {
        gate.wait()
        uses.withLock { $0.isLate = $0.isLate || $0.hasReturned }
        collected.receive(bytes, of: response)
    }
}

private struct FailingSink: HTTPBodySink {
    struct Full: Error {}

    func receive(_ bytes: UnsafeRawBufferPointer, of response: HTTPResponse) throws {
        throw Full()
    }
}
