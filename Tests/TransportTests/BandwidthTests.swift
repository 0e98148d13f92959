import Glibc
import Meters
import Synchronization
import TestBytes
import TestServer
import Testing
import Transport

/// Goal: all transfers together keep to the bandwidth.
///
/// Method: the clock of the bandwidth is simulated, and stands still unless the test moves it: then no more
/// than the first bytes may move, however long a test takes.
@Suite("The bandwidth", .timeLimit(.minutes(2)))
struct BandwidthTests {
    private static let down = Bandwidth(down: 256 << 10)
    private static let up = Bandwidth(up: 256 << 10)
    /// A tenth of a second, the piece with which the balance becomes negative, and headers.
    private static let bytesMax: UInt64 = (256 << 10) / 10 + (128 << 10) + 1_024

    private let clock = TestClock()
    private let transport: HTTPTransport

    init() {
        var options = TransportOptions()
        options.clock = { [clock] in clock.now }
        transport = HTTPTransport(options)
    }

    private func answer(_ bytes: [UInt8]) -> ScriptedServer.Script {
        { request, connection in
            if request["Expect"] != nil { try connection.write("HTTP/1.1 100 Continue\r\n\r\n") }
            _ = try connection.read(request.bodyBytes)
            try connection.answer("200 OK", [], request.target == "/large" ? bytes : [1])
        }
    }

    @Test func `holds up downloads together, and short answers not, until it is lifted`()
        async throws
    {
        let bytes = TestBytes.random(4 << 20)
        transport.setBandwidth(Self.down)
        try await ScriptedServer.run(answer(bytes)) { server in
            let sinks = [CollectingSink(), CollectingSink(), CollectingSink()]
            try await withThrowingTaskGroup { group in
                for sink in sinks {
                    group.addTask {
                        var request = HTTPRequest(.get, server.url("/large"))
                        request.answerBytes = 4 << 20
                        _ = try await transport.send(request, into: sink)
                    }
                }
                // More requests than fit beside the downloads, each after the one before.
                for _ in 0..<20 {
                    let answer = try await transport.send(HTTPRequest(.get, server.url("/small")))
                    #expect(answer.body == [1])
                }
                #expect(transport.meter.received.value <= Self.bytesMax + 20 * 200)
                transport.setBandwidth(.unlimited)
                try await group.waitForAll()
            }
            #expect(sinks.allSatisfy { $0.bytes == bytes })
        }
    }

    @Test func `holds up uploads until it is lifted`() async throws {
        let bytes = TestBytes.random(2 << 20)
        transport.setBandwidth(Self.up)
        try await ScriptedServer.run(answer([])) { server in
            async let upload = transport.send(
                HTTPRequest(
                    .put, server.url("/up"),
                    body: .source(ArraySource(bytes), range: 0..<UInt64(bytes.count)),
                    stallTimeout: .milliseconds(500)))
            for _ in 0..<20 {
                _ = try await transport.send(HTTPRequest(.get, server.url("/small")))
            }
            #expect(transport.meter.sent.value <= Self.bytesMax)
            transport.setBandwidth(.unlimited)
            #expect(try await upload.response.status == 200)
            #expect(transport.meter.sent.value == UInt64(bytes.count))
        }
    }

    @Test func `lets as many bytes pass as the time allows`() async throws {
        let bytes = TestBytes.random(1 << 20)
        transport.setBandwidth(Self.down)
        clock.setStep(.milliseconds(50))
        let start = clock.now
        try await ScriptedServer.run(answer(bytes)) { server in
            let sink = CollectingSink()
            var request = HTTPRequest(.get, server.url("/large"))
            request.answerBytes = 1 << 20
            _ = try await transport.send(request, into: sink)
            #expect(sink.bytes == bytes)
        }
        let free = Double(Self.bytesMax)
        #expect(clock.now - start >= .seconds((Double(bytes.count) - free) / Double(256 << 10)))
    }

    @Test func `holds up nothing that goes to a program on this machine`() async throws {
        let bytes = TestBytes.random(1 << 20)
        transport.setBandwidth(Bandwidth(up: 8 << 10, down: 8 << 10))
        let path = "/tmp/apus-bandwidth-\(UInt32.random(in: 0 ... .max))"
        defer { unlink(path) }
        try await ScriptedServer.run(at: path, answer(bytes)) { _ in
            let sink = CollectingSink()
            _ = try await transport.send(
                HTTPRequest(.get, "http://apus/large", unixSocketPath: path), into: sink)
            #expect(sink.bytes == bytes)
        }
    }
}

/// A clock that stands still, or moves on each time that it is read.
private final class TestClock: Sendable {
    private let state = Mutex((now: ContinuousClock.now, step: Duration.zero))

    var now: ContinuousClock.Instant {
        state.withLock { state in
            state.now += state.step
            return state.now
        }
    }

    func setStep(_ step: Duration) { state.withLock { $0.step = step } }
}
