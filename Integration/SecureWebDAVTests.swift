import Engine
import Foundation
import Host
import Logging
import ProviderConformance
import ProviderSupport
import ProviderWebDAV
import Synchronization
import TestBytes
import Testing
import Transport

/// TLS, and HTTP/2 over it, with a real server: Apache's mod_http2.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct SecureWebDAVTests {
    private func transport(_ server: WebDAVServer, http2: Bool? = nil) -> HTTPTransport {
        var options = TransportOptions()
        if let http2 { options.http2 = http2 }
        options.caFile = server.authority.file
        return HTTPTransport(options)
    }

    @Test(arguments: ProviderConformance.cases)
    func `Apache keeps the contract over TLS`(testCase: ProviderConformance.Case) async throws {
        var options = ConformanceOptions()
        options.entriesOfSeveralPages = 45
        options.bytesOfSeveralPieces = 1 << 20
        options.pathBytesMax = 3_000
        let fixed = options
        try await WebDAVServer.with(.secureApache) { server in
            let world = ProviderEnvironment(
                clock: SystemClock(), transport: transport(server), logger: Logger(label: "test"))
            try await ProviderConformance(options: fixed) {
                try await WebDAVProvider.connect(to: server.source, world: world, pageEntries: 10)
            }.run(testCase)
            try eventually("the requests are noted") { !server.requests.isEmpty }
            let version = TransportOptions().http2 ? "HTTP/2.0" : "HTTP/1.1"
            #expect(server.requests.allSatisfy { $0.hasPrefix("\(version) ") })
        }
    }

    @Test func `large bodies go both ways over HTTP 2, many at a time, and each is whole`()
        async throws
    {
        try await WebDAVServer.with(.secureApache) { server in
            let transport = transport(server, http2: true)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for index in 0..<40 {
                    group.addTask {
                        let content = TestBytes.random(1_000_003 + index, seed: UInt64(index))
                        let url = "\(server.url)/file\(index)"
                        let put = HTTPRequest(.put, url, body: .bytes(content))
                        #expect(try await transport.send(put).response.status == 201)
                        let (response, body) = try await transport.send(
                            HTTPRequest(.get, url), bytesMax: 2 << 20)
                        let isWhole = body == content
                        #expect(response.status == 200 && isWhole)
                    }
                }
                try await group.waitForAll()
            }
            try eventually("the requests are noted") { server.requests.count == 80 }
            #expect(server.requests.allSatisfy { $0.hasPrefix("HTTP/2.0 ") })
        }
    }

    /// The server answers before it has the body, and resets the stream.
    @Test func `a refusal that does not wait for the body is a refusal`() async throws {
        try await WebDAVServer.with(.secureApache) { server in
            let transport = transport(server)
            try Files.write([1], to: "\(server.folder)/file")
            try await withThrowingTaskGroup(of: Void.self) { group in
                for index in 0..<400 {
                    if index >= 8 { try await group.next() }
                    group.addTask {
                        let content = [UInt8](repeating: 1, count: 1 + index * 500)
                        let put = HTTPRequest(
                            .put, "\(server.url)/file/new\(index)", body: .bytes(content))
                        let status = try await transport.send(put).response.status
                        #expect((400..<500).contains(status))
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    @Test func `a transfer that is cancelled leaves others on its connection alone`() async throws {
        let content = TestBytes.random(8_000_000, seed: 1)
        try await WebDAVServer.with(.secureApache) { server in
            try Files.write(content, to: "\(server.folder)/file")
            // Of 4 GiB some are still to come when it is cancelled.
            try Program.require("truncate", "--size", "4G", "\(server.folder)/endless")
            let transport = transport(server, http2: true)
            _ = try await transport.send(HTTPRequest(.head, "\(server.url)/file"))
            let sink = FirstBytes()
            let cancelled = Task {
                try await transport.send(HTTPRequest(.get, "\(server.url)/endless"), into: sink)
            }
            await sink.arrived()
            async let other = transport.send(
                HTTPRequest(.get, "\(server.url)/file"), bytesMax: 10_000_000)
            cancelled.cancel()
            let error = await #expect(throws: TransportError.self) { _ = try await cancelled.value }
            #expect(error?.kind == .cancelled)
            let isWhole = try await other.body == content
            #expect(isWhole)
        }
    }

    /// Goal: a pause after a burst of requests makes none fail.
    ///
    /// Method: more connections than libcurl tries are closed by the server after its KeepAliveTimeout, which
    /// is awaited.
    @Test(arguments: [HTTPMethod.head, .put])
    func `connections that the server has closed in a pause fail no request`(method: HTTPMethod)
        async throws
    {
        let connections = 12
        try await WebDAVServer.with(.secureApache, keepAliveSeconds: 1) { server in
            try Files.write([UInt8](repeating: 1, count: 4 << 20), to: "\(server.folder)/file")
            let transport = transport(server, http2: false)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<connections {
                    group.addTask {
                        _ = try await transport.send(
                            HTTPRequest(.get, "\(server.url)/file"), bytesMax: 8 << 20)
                    }
                }
                try await group.waitForAll()
            }
            try eventually("the server has closed more than five connections") {
                try Self.closedByServer(port: server.port) > 5
            }
            for _ in 0..<3 {
                let body = method == .put ? HTTPBody.bytes([1, 2, 3]) : .none
                let request = HTTPRequest(method, "\(server.url)/file", body: body)
                let status = try await transport.send(request).response.status
                #expect((200..<300).contains(status))
            }
        }
    }

    /// The number of connections that a local server has closed, and their other end has not. proc(5):
    /// `/proc/net/tcp`, state 05 is FIN_WAIT2, and without an inode if no process has it any more: then
    /// bytes that arrive are answered by a reset.
    private static func closedByServer(port: UInt16) throws -> Int {
        let table = try Program.require("cat", "/proc/net/tcp")
        let end = ":" + String(format: "%04X", port)
        return table.split(separator: "\n").count { line in
            let fields = line.split(separator: " ")
            return fields.count > 9 && fields[1].hasSuffix(end) && fields[3] == "05"
                && fields[9] == "0"
        }
    }

    @Test func `a certificate of an unknown authority is refused before anything is said`()
        async throws
    {
        try await WebDAVServer.with(.secureApache) { server in
            let error = await #expect(throws: TransportError.self) {
                _ = try await HTTPTransport().send(
                    HTTPRequest(
                        .get, "\(server.url)/", credentials: .basic(user: "me", password: "pass")))
            }
            #expect(error?.kind == .tls)
            #expect(server.requests.isEmpty)
        }
    }
}

/// Says when the first bytes are there.
private final class FirstBytes: HTTPBodySink {
    private let stream: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation

    init() {
        (stream, continuation) = AsyncStream<Void>.makeStream()
    }

    func arrived() async {
        for await _ in stream { break }
    }

    func receive(_ bytes: UnsafeRawBufferPointer, of response: HTTPResponse) {
        continuation.finish()
    }
}
