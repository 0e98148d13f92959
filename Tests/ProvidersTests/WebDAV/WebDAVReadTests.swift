import Dispatch
import Engine
import Host
import Logging
import Synchronization
import TestServer
import Testing
import Transport

@testable import ProviderSupport
@testable import ProviderWebDAV
@testable import Providers

/// Goal: bytes of a server that does not obey `If-Match` count early, and only once they are known to be of
/// the requested version.
@Suite(.timeLimit(.minutes(2))) struct WebDAVReadTests {
    /// A class 1 server with one file, of zeros.
    private final class Server: Sendable {
        static let size = 8 << 20
        /// Called before the byte of the answer to a GET at an offset.
        private let pause: (offset: Int, body: @Sendable () -> Void)
        /// The tag of the file at each look at it.
        let tags: @Sendable (_ look: Int) -> String
        let looks = Mutex(0)
        private let answerTag: String

        init(
            pauseAt offset: Int = 0, pause: @escaping @Sendable () -> Void = {},
            tags: @escaping @Sendable (Int) -> String = { _ in "\"1\"" },
            answerTag: String = "\"1\""
        ) {
            self.pause = (offset, pause)
            self.tags = tags
            self.answerTag = answerTag
        }

        func answer(_ request: ServedRequest, _ connection: ServedConnection) throws {
            _ = try connection.read(request.bodyBytes)
            switch (request.method, request.target) {
            case ("OPTIONS", _): try send("200 OK", ["DAV: 1"], on: connection)
            case ("PROPFIND", "/dav/"):
                try sendFound("/dav/", "<resourcetype><collection/></resourcetype>", on: connection)
            case ("PROPFIND", let path):
                let tag = looks.withLock { looks in
                    looks += 1
                    return tags(looks)
                }
                let properties =
                    "<getetag>\(tag)</getetag><getcontentlength>\(Self.size)</getcontentlength>"
                try sendFound(path, properties, on: connection)
            case ("GET", _) where request["Range"] != nil: try sendRange(request, on: connection)
            default: try send("405 Method Not Allowed", [], on: connection)
            }
        }

        private func send(
            _ status: String, _ headers: [String], _ body: String = "",
            on connection: ServedConnection
        ) throws {
            let lines = ["HTTP/1.1 \(status)", "Content-Length: \(body.utf8.count)"] + headers
            try connection.write((lines + ["", body]).joined(separator: "\r\n"))
        }

        private func sendFound(
            _ path: String, _ properties: String, on connection: ServedConnection
        ) throws {
            let body =
                "<multistatus xmlns=\"DAV:\"><response><href>\(path)</href><propstat><prop>"
                + "\(properties)</prop><status>HTTP/1.1 200 OK</status></propstat></response>"
                + "</multistatus>"
            try send("207 Multi-Status", [], body, on: connection)
        }

        private func sendRange(_ request: ServedRequest, on connection: ServedConnection) throws {
            let bounds = (request["Range"] ?? "").drop { !$0.isNumber }.split(separator: "-")
            let (first, last) = (Int(bounds[0]) ?? 0, Int(bounds[1]) ?? 0)
            let count = last + 1 - first
            if pause.offset == 0 { pause.body() }
            try connection.write(
                "HTTP/1.1 206 Partial Content\r\nContent-Length: \(count)\r\n"
                    + "ETag: \(answerTag)\r\nContent-Range: bytes \(first)-\(last)/\(Self.size)\r\n\r\n"
            )
            try connection.write([UInt8](repeating: 0, count: pause.offset))
            if pause.offset > 0 { pause.body() }
            try connection.write([UInt8](repeating: 0, count: count - pause.offset))
        }

        func run(
            _ range: Range<UInt64>, into sink: any ByteSink
        ) async throws -> ProviderError.Kind? {
            try await withProvider { provider, key in
                do {
                    try await provider.read(key, range: range, etag: ETag("\"1\""), into: sink)
                } catch {
                    return (error as? ProviderError)?.kind
                }
                return nil
            }
        }

        func withProvider<Value: Sendable>(
            clock: any Clock = SystemClock(),
            _ body: @Sendable (WebDAVProvider, ObjectKey) async throws -> Value
        ) async throws -> Value {
            try await ScriptedServer.run({ try self.answer($0, $1) }) { served in
                let provider = try await WebDAVProvider.connect(
                    to: "webdav+http://127.0.0.1:\(served.port)/dav",
                    world: ProviderEnvironment(
                        clock: clock, transport: HTTPTransport(),
                        logger: Logger(label: "test")), pageEntries: 10)
                return try await body(provider, ObjectKey([try #require(FileName("file"))]))
            }
        }
    }

    /// A clock on which no time passes: nothing ends because a busy machine is slow.
    private struct StoppedClock: Clock {
        var wallTime: Timestamp { Timestamp(seconds: 1_600_000_000) }
        var uptime: Duration { .zero }

        func sleep(until instant: Duration) async throws {
            try await Task.sleep(for: .seconds(3_600))
        }
    }

    private final class Sink: ByteSink {
        let confirmed = Mutex<[Range<UInt64>]>([])
        let confirmation = DispatchSemaphore(value: 0)
        let received = Mutex<UInt64>(0)
        /// Whether bytes counted before they had come.
        let isAhead = Atomic(false)

        func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) {
            received.withLock { $0 += UInt64(bytes.count) }
        }

        func confirm(_ range: Range<UInt64>) {
            confirmed.withLock { $0.append(range) }
            let received = received.withLock { $0 }
            if UInt64(range.count) > received { isAhead.store(true, ordering: .relaxed) }
            confirmation.signal()
        }
    }

    private static func wait(for semaphore: DispatchSemaphore) {
        if semaphore.wait(timeout: .now() + 30) == .timedOut { Issue.record("nothing happened") }
    }

    @Test func `a short range takes one round trip`() async throws {
        let sink = Sink()
        let looked = DispatchSemaphore(value: 0)
        let server = Server(
            pause: { Self.wait(for: looked) },
            tags: { _ in
                looked.signal()
                return "\"1\""
            })
        #expect(try await server.run(0..<4_096, into: sink) == nil)
        #expect(sink.received.withLock { $0 } == 4_096)
        #expect(sink.confirmed.withLock { $0 } == [0..<4_096])
        #expect(server.looks.withLock { $0 } == 1)
    }

    @Test func `a lookup brings the first bytes of the version that it shows`() async throws {
        let server = Server()
        let start = try await server.withProvider(clock: StoppedClock()) {
            try await $0.stat($1, firstBytes: 1_000)
        }
        #expect(start.object.etag == ETag("\"1\""))
        #expect(start.bytes == [UInt8](repeating: 0, count: 1_000))
        #expect(server.looks.withLock { $0 } == 1)
    }

    @Test func `a lookup brings no bytes of another version`() async throws {
        let server = Server(tags: { _ in "\"2\"" })
        let start = try await server.withProvider(clock: StoppedClock()) {
            try await $0.stat($1, firstBytes: 1_000)
        }
        #expect(start.object.etag == ETag("\"2\""))
        #expect(start.bytes == [])
    }

    @Test func `a lookup does not wait for bytes that take much longer`() async throws {
        let isOver = DispatchSemaphore(value: 0)
        let server = Server(pause: { Self.wait(for: isOver) })
        let start = try await server.withProvider { provider, key in
            defer { isOver.signal() }
            return try await provider.stat(key, firstBytes: 1_000)
        }
        #expect(start.object.size == UInt64(Server.size))
        #expect(start.bytes == [])
    }

    /// Goal: a file with the same tag may have been moved there after the server had opened the other.
    @Test(arguments: [(8, true), (9, false), (10, false)])
    func `first bytes with a tag that two files may have count if the name is older`(
        second: Int, counts: Bool
    ) throws {
        let created = "2026-11-28T10:00:\(second < 10 ? "0" : "")\(second)Z"
        let receiver = StartReceiver(bytesMax: 10)
        let response = HTTPResponse(
            status: 206,
            headers: HTTPHeaders([
                ("ETag", "\"1\""), ("Content-Range", "bytes 0-1/2"),
                ("Date", "Sat, 28 Nov 2026 10:00:10 GMT"),
            ]))
        try [UInt8]([7, 8]).withUnsafeBytes { try receiver.receive($0, of: response) }
        let object = RemoteObject(
            name: try #require(FileName("file")), kind: .file, etag: ETag("\"1\" \(created) "),
            size: 2, modified: Timestamp(seconds: 0), mode: nil)
        #expect(receiver.bytes(of: object, sharesTags: true) == (counts ? [7, 8] : []))
        #expect(receiver.bytes(of: object, sharesTags: false) == [7, 8])
    }

    /// Method: the rest comes once these are confirmed.
    @Test func `the first parts of a long range count before the last has come`() async throws {
        let sink = Sink()
        let server = Server(
            pauseAt: 6 << 20,
            pause: { for _ in 0..<2 { Self.wait(for: sink.confirmation) } })
        #expect(try await server.run(0..<8 << 20, into: sink) == nil)
        let parts = sink.confirmed.withLock { $0 }
        #expect(parts.first == 0..<1 << 20)
        #expect(parts.dropFirst().first.map { 5 << 20...6 << 20 ~= $0.upperBound } == true)
        #expect(parts.last == 0..<8 << 20)
    }

    @Test func `the first part of a long range counts with the first look`() async throws {
        let sink = Sink()
        let server = Server(pauseAt: 1, pause: { Self.wait(for: sink.confirmation) })
        #expect(try await server.run(1 << 20..<3 << 20, into: sink) == nil)
        let parts = sink.confirmed.withLock { $0 }
        #expect(parts == [1 << 20..<2 << 20, 1 << 20..<3 << 20])
        #expect(server.looks.withLock { $0 } == 2)
    }

    /// - Parameter isStored: Whether the known version has a strong tag.
    @Test(arguments: [8 << 20, 4_096] as [UInt64], [false, true])
    func `bytes whose answer has no strong tag count after they have come`(
        count: UInt64, isStored: Bool
    ) async throws {
        let sink = Sink()
        let server = Server(
            pauseAt: 1,
            // For a confirmation that must not come.
            pause: { _ = sink.confirmation.wait(timeout: .now() + .milliseconds(200)) },
            tags: { _ in isStored ? "\"1\"" : "W/\"1\"" }, answerTag: "W/\"1\"")
        try await server.withProvider { provider, key in
            let etag = try #require(try await provider.stat(key).etag)
            try await provider.read(key, range: 0..<count, etag: etag, into: sink)
        }
        #expect(sink.confirmed.withLock { $0.last } == 0..<count)
        let isAhead = sink.isAhead.load(ordering: .relaxed)
        #expect(!isAhead)
    }

    @Test func `bytes that came before a change count, and no others`() async throws {
        let sink = Sink()
        let server = Server(
            pauseAt: 3 << 20, pause: { Self.wait(for: sink.confirmation) },
            tags: { $0 > 1 ? "\"2\"" : "\"1\"" })
        #expect(try await server.run(0..<8 << 20, into: sink) == .changed)
        let parts = sink.confirmed.withLock { $0 }
        #expect(parts.count == 1 && parts.allSatisfy { $0.upperBound <= 3 << 20 })
    }

    @Test func `a short range of another version than the tag of its answer says does not count`()
        async throws
    {
        let sink = Sink()
        let server = Server(tags: { _ in "\"2\"" })
        #expect(try await server.run(0..<4_096, into: sink) == .changed)
        #expect(sink.confirmed.withLock { $0 }.isEmpty)
    }
}
