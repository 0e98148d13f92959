import Engine
import Foundation
import Host
import Logging
import Synchronization
import TestServer
import Testing
import Transport

@testable import ProviderRclone
@testable import ProviderS3
@testable import ProviderSupport
@testable import ProviderWebDAV
@testable import Providers

/// Goal: a transfer in which no byte moves ends, as the engine sets it no deadline.
@Suite("Stalled transfers", .timeLimit(.minutes(1))) struct StallTests {
    private static let attributes = ObjectAttributes(
        modified: Timestamp(seconds: 1_600_000_000), mode: 0o640)
    private static let key = ObjectKey([FileName("a")!])
    private static let newKey = ObjectKey([FileName("b")!])

    private let transport: HTTPTransport

    init() {
        var options = TransportOptions()
        options.contentStallMax = .milliseconds(200)
        transport = HTTPTransport(options)
    }

    /// Expects that a read and an upload end, which the server begins to serve.
    private func expectEnds(of provider: any Provider, etag: ETag) async {
        let read = await #expect(throws: ProviderError.self) {
            try await provider.read(Self.key, range: 0..<10, etag: etag, into: NoSink())
        }
        #expect(read?.kind == .unreachable)
        let write = await #expect(throws: ProviderError.self) {
            _ = try await provider.write(
                Self.newKey, from: SameBytes(size: 12 << 20), attributes: Self.attributes,
                base: .absent, session: UntrackedUpload())
        }
        #expect(write?.kind == .unreachable)
    }

    private static let half =
        "HTTP/1.1 206 Partial Content\r\nContent-Length: 10\r\nContent-Range: bytes 0-9/10\r\n"
        + "ETag: \"1\"\r\n\r\n12345"

    /// Begins to serve a transfer, and does not continue.
    @Sendable private static func stall(
        _ request: ServedRequest, _ connection: ServedConnection
    ) throws {
        try connection.write(request.method == "GET" ? half : "HTTP/1.1 100 Continue\r\n\r\n")
        connection.awaitHangUp()
        throw POSIXError(.ECONNRESET)
    }

    @Test func `WebDAV ends them`() async throws {
        let root =
            "<multistatus xmlns=\"DAV:\"><response><href>/dav/</href><propstat><prop>"
            + "<resourcetype><collection/></resourcetype></prop><status>HTTP/1.1 200 OK</status>"
            + "</propstat></response></multistatus>"
        // The reader asks for the version while the bytes do not come.
        let file =
            "<multistatus xmlns=\"DAV:\"><response><href>/dav/a</href><propstat><prop>"
            + "<resourcetype/><getetag>\"1\"</getetag><getcontentlength>10</getcontentlength></prop>"
            + "<status>HTTP/1.1 200 OK</status></propstat></response></multistatus>"
        try await ScriptedServer.run { request, connection in
            if request.bodyBytes > 1 << 20 || request["Range"] != nil {
                return try Self.stall(request, connection)
            }
            _ = try connection.read(request.bodyBytes)
            switch (request.method, request.target) {
            case ("OPTIONS", _): try connection.answer("200 OK", ["DAV: 1"])
            case ("PROPFIND", "/dav/"):
                try connection.answer("207 Multi-Status", [], Array(root.utf8))
            case ("PROPFIND", "/dav/a"):
                try connection.answer("207 Multi-Status", [], Array(file.utf8))
            default: try connection.answer("404 Not Found")
            }
        } _: { server in
            await expectEnds(
                of: try await WebDAVProvider.connect(
                    to: "webdav+http://127.0.0.1:\(server.port)/dav",
                    world: ProviderEnvironment(
                        clock: SystemClock(), transport: transport, logger: Logger(label: "test")),
                    pageEntries: 10), etag: ETag("\"1\""))
        }
    }

    /// Sends reads and long bodies to a server, and answers all else itself.
    private struct StallingWire: S3Wire {
        let store = TinyS3()
        let transport: HTTPTransport
        let server: ScriptedServer

        func send(
            _ request: HTTPRequest, into sink: some HTTPBodySink
        ) async throws(TransportError) -> HTTPResponse {
            var request = request
            let isLong = if case .source = request.body { true } else { request.answerBytes > 0 }
            guard isLong else { return try await store.send(request, into: sink) }
            request.url = server.url("/a")
            return try await transport.send(request, into: sink)
        }
    }

    @Test func `S3 ends them`() async throws {
        try await ScriptedServer.run(Self.stall) { server in
            let endpoint = try #require(
                S3Endpoint(url: "http://store", bucket: "bucket", isPathStyle: true))
            let provider = try S3Provider(
                S3Client(
                    settings: S3Settings(bucket: "bucket", prefix: S3Key("")), endpoint: endpoint,
                    region: "us-east-1",
                    wire: StallingWire(transport: transport, server: server),
                    clock: ClockAtOnce(), credentials: nil, logger: Logger(label: "test")))
            provider.probe.known.withLock { $0 = S3Conditions() }
            await expectEnds(of: provider, etag: ETag("1"))
        }
    }

    /// A clock on which a sleep takes a millisecond.
    private final class FastClock: Clock {
        private let now = Mutex(Duration.zero)

        var wallTime: Timestamp { Timestamp(seconds: uptime.components.seconds) }
        var uptime: Duration { now.withLock { $0 } }

        func sleep(until instant: Duration) async throws {
            try await Task.sleep(for: .milliseconds(1))
            now.withLock { $0 = max($0, instant) }
        }
    }

    @Test func `rclone ends them`() async throws {
        let directory = try RcloneDirectory(in: NSTemporaryDirectory())
        defer { directory.remove() }
        try await ScriptedServer.run(at: directory.socketPath) { request, connection in
            if request.method == "GET" { return try Self.stall(request, connection) }
            _ = try connection.read(request.bodyBytes)
            if request.target == "/operations/copyfile" { connection.awaitHangUp() }
            let isStats = request.target == "/core/stats"
            try connection.answer("200 OK", [], Array((isStats ? "{\"bytes\":5}" : "{}").utf8))
        } _: { _ in
            // The server stands in for the program, which ends at once.
            let daemon = RcloneDaemon(
                RcloneProgram(path: "/bin/true", environment: []), directory: directory,
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
            let client = RcloneClient(daemon: daemon, transport: transport, clock: FastClock())
            let read = await #expect(throws: ProviderError.self) {
                try await client.read(
                    path: "a", range: 0..<10,
                    into: RcloneReadSink(range: 0..<10, size: 10, into: NoSink()))
            }
            #expect(read?.kind == .unreachable)
            let features = #"{"Features":{},"Hashes":null,"Precision":1}"#
            let upload = RcloneUpload(
                remote: RcloneRemote(
                    client: client, fileSystem: "x:",
                    opened: try JSONDecoder().decode(
                        RcloneFileSystem.self, from: Data(features.utf8))),
                file: RcloneSpool.File(directory: directory.path, name: "a"), size: 10,
                session: UntrackedUpload())
            let write = await #expect(throws: ProviderError.self) { try await upload.run(to: "a") }
            #expect(write?.kind == .unreachable)
        }
    }

    @Test func `an upload by rclone stalls after 30 s, or 10 minutes after its last byte`() {
        var watch = RcloneStallWatch(size: 10, at: .seconds(5))
        #expect(!watch.isStalled(at: .seconds(34)))
        #expect(watch.isStalled(at: .seconds(35)))
        #expect(watch.note(4, at: .seconds(20)) && !watch.note(4, at: .seconds(30)))
        #expect(!watch.isStalled(at: .seconds(49)))
        #expect(watch.isStalled(at: .seconds(50)))
        #expect(watch.note(12, at: .seconds(60)) && watch.sent == 10)
        #expect(!watch.isStalled(at: .seconds(659)))
        #expect(watch.isStalled(at: .seconds(660)))
    }
}

private struct NoSink: ByteSink {
    func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) {}
}
