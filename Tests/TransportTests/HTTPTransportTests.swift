import Foundation
import Synchronization
import TestBytes
import TestServer
import Testing
import Transport

@Suite(.timeLimit(.minutes(2)))
struct HTTPTransportTests {
    private let transport = HTTPTransport()

    // MARK: Bodies

    @Test func `bodies stream both ways, each byte once`() async throws {
        let bytes = TestBytes.random(9_000_001)
        let progress = Mutex<[(UInt64, UInt64)]>([])
        try await ScriptedServer.run { request, connection in
            let body = try connection.read(request.bodyBytes)
            try connection.answer("201 Created", ["ETag: \"1\""], body)
        } _: { server in
            let sink = CollectingSink()
            let response = try await transport.send(
                HTTPRequest(
                    .put, server.url("/file"), headers: [(name: "X-Empty", value: "")],
                    body: .source(ArraySource(bytes), range: 0..<UInt64(bytes.count)),
                    onProgress: { sent, received in
                        progress.withLock { $0.append((sent, received)) }
                    }),
                into: sink)
            #expect(response.status == 201)
            #expect(response.headers["etag"] == "\"1\"")
            #expect(sink.bytes == bytes)
            #expect(sink.responses == [response])
            let request = try #require(server.requests.first)
            #expect(request.method == "PUT")
            #expect(request["content-length"] == "\(bytes.count)")
            #expect(request["x-empty"]?.isEmpty == true)
            #expect(request["accept-encoding"] == nil)
            #expect(request["user-agent"] == "apus")
        }
        let steps = progress.withLock { $0 }
        #expect(steps.count > 10)
        for (before, after) in zip(steps, steps.dropFirst()) {
            #expect(before.0 <= after.0 && before.1 <= after.1)
        }
        #expect(steps.last?.0 == UInt64(bytes.count))
        #expect(steps.last?.1 == UInt64(bytes.count))
    }

    @Test func `a part of a source is sent`() async throws {
        let bytes = TestBytes.random(1_000)
        try await ScriptedServer.run { request, connection in
            try connection.answer("200 OK", [], connection.read(request.bodyBytes))
        } _: { server in
            let (_, body) = try await transport.send(
                HTTPRequest(
                    .put, server.url("/"), body: .source(ArraySource(bytes), range: 100..<900)))
            #expect(body == Array(bytes[100..<900]))
        }
    }

    @Test(arguments: [
        (HTTPMethod.get, nil as String?), (.head, nil), (.delete, nil), (.propfind, nil),
        (.put, "0"),
        (.post, "0"),
    ])
    func `a request without a body says so`(method: HTTPMethod, length: String?) async throws {
        try await ScriptedServer.run { _, connection in
            try connection.answer("204 No Content")
        } _: { server in
            let (response, body) = try await transport.send(HTTPRequest(method, server.url("/")))
            #expect(response.status == 204)
            #expect(body.isEmpty)
            #expect(server.requests.map(\.method) == [method.rawValue])
            #expect(server.requests.first?["content-length"] == length)
        }
    }

    /// Some servers and proxies never send `100 Continue`, which costs a second for each request.
    @Test(arguments: [(1_000, false), (65_535, false), (65_536, true), (2_000_000, true)])
    func `only a large body waits for 100 Continue`(count: Int, isWaiting: Bool) async throws {
        try await ScriptedServer.run { request, connection in
            if request["expect"] != nil { try connection.write("HTTP/1.1 100 Continue\r\n\r\n") }
            try connection.answer("200 OK", [], connection.read(request.bodyBytes))
        } _: { server in
            let bytes = TestBytes.random(count)
            for credentials in [nil, HTTPCredentials.negotiated(user: "me", password: "secret")] {
                let (_, body) = try await transport.send(
                    HTTPRequest(
                        .put, server.url("/"),
                        body: .source(ArraySource(bytes), range: 0..<UInt64(count)),
                        credentials: credentials),
                    bytesMax: 4 << 20)
                #expect(body == bytes)
            }
            let words = server.requests.map { $0["expect"] }
            #expect(words == [String?](repeating: isWaiting ? "100-continue" : nil, count: 2))
        }
    }

    @Test func `a method of any name can have a body`() async throws {
        try await ScriptedServer.run { request, connection in
            try connection.answer("207 Multi-Status", [], connection.read(request.bodyBytes))
        } _: { server in
            let (response, body) = try await transport.send(
                HTTPRequest(.propfind, server.url("/"), body: .bytes(Array("<a/>".utf8))))
            #expect(response.status == 207)
            #expect(body == Array("<a/>".utf8))
            #expect(server.requests.first?.method == "PROPFIND")
        }
    }

    @Test func `an answer that was compressed unasked stays compressed`() async throws {
        try await ScriptedServer.run { _, connection in
            try connection.answer("200 OK", ["Content-Encoding: gzip"], [0x1F, 0x8B, 1, 2, 3])
        } _: { server in
            let (_, body) = try await transport.send(HTTPRequest(.get, server.url("/")))
            #expect(body == [0x1F, 0x8B, 1, 2, 3])
        }
    }

    @Test func `a body above the bound ends the transfer`() async throws {
        try await ScriptedServer.run { _, connection in
            try connection.answer("200 OK", [], TestBytes.random(1_001))
        } _: { server in
            let error = await #expect(throws: TransportError.self) {
                try await transport.send(HTTPRequest(.get, server.url("/")), bytesMax: 1_000)
            }
            #expect(error?.kind == .tooLarge)
        }
    }

    @Test func `a source that fails or ends early ends the transfer`() async throws {
        struct Unreadable: Error {}
        try await ScriptedServer.run { request, connection in
            _ = try connection.read(request.bodyBytes)
            try connection.answer("201 Created")
        } _: { server in
            for source in [
                ArraySource([1, 2], onRead: { _ in throw Unreadable() }),
                ArraySource([1, 2], size: 9),
            ] {
                let error = await #expect(throws: TransportError.self) {
                    try await transport.send(
                        HTTPRequest(
                            .put, server.url("/"), body: .source(source, range: 0..<source.size)))
                }
                #expect(error?.kind == .source)
                #expect(
                    error?.cause is Unreadable
                        || error?.cause as? HTTPBodySourceEnded != nil)
            }
        }
    }

    // MARK: Damaged answers

    @Test(arguments: [
        ("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort", TransportError.Kind.interrupted),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nshort\r\n", .interrupted),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nsho", .interrupted),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nshort", .interrupted),
        ("HTTP/1.1 200 OK\r\nContent-Le", .interrupted),
        ("", .interrupted),
        ("this is no HTTP\r\n\r\n", .invalid),
        ("SSH-2.0-OpenSSH_9.2\r\n", .invalid),
        ("HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n", .invalid),
    ])
    func `a short or damaged answer is an error`(
        answer: String, kind: TransportError.Kind
    ) async throws {
        try await ScriptedServer.run { _, connection in
            try connection.write(answer)
            throw POSIXError(.ECONNRESET)
        } _: { server in
            let error = await #expect(throws: TransportError.self) {
                try await transport.send(HTTPRequest(.get, server.url("/")))
            }
            #expect(error?.kind == kind, "\(error?.reason ?? "")")
        }
    }

    /// How many fields, and how long each.
    @Test(arguments: [(300, 1), (50, 5_000), (1, 200_000)])
    func `an endless header is refused`(count: Int, length: Int) async throws {
        let value = String(repeating: "y", count: length)
        let fields = (0..<count).map { "X-\($0): \(value)\r\n" }.joined()
        try await ScriptedServer.run { _, connection in
            try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\(fields)\r\n")
        } _: { server in
            let error = await #expect(throws: TransportError.self) {
                try await transport.send(HTTPRequest(.get, server.url("/")))
            }
            #expect(error?.kind == .tooLarge, "\(error?.reason ?? "")")
        }
    }

    @Test func `a large header within the bounds is read, folded lines and trailers included`()
        async throws
    {
        let fields = (0..<200).map { "X-Field: \($0)\r\n" }.joined()
        try await ScriptedServer.run { _, connection in
            try connection.write(
                "HTTP/1.1 103 Early Hints\r\nLink: early\r\n\r\nHTTP/1.1 200 OK\r\n\(fields)"
                    + "Transfer-Encoding: chunked\r\nTrailer: Sum\r\n\r\n"
                    + "2\r\nok\r\n0\r\nSum: 1\r\n\r\n")
        } _: { server in
            let (response, body) = try await transport.send(HTTPRequest(.get, server.url("/")))
            #expect(response.headers.all("x-field").count == 200)
            #expect(response.headers["link"] == nil)
            #expect(response.headers["sum"] == nil)
            #expect(body == Array("ok".utf8))
        }
    }

    // MARK: Invalid requests

    @Test(arguments: [
        HTTPRequest(.get, "file:///etc/hostname"),
        HTTPRequest(.get, "ftp://127.0.0.1/"),
        HTTPRequest(.get, "nonsense at all"),
        HTTPRequest(.get, "http://me:secret@127.0.0.1/"),
        HTTPRequest(HTTPMethod(rawValue: "GET / HTTP/1.1\r\nX:"), "http://127.0.0.1/"),
        HTTPRequest(.get, "http://127.0.0.1/", headers: [(name: "A\r\nB", value: "c")]),
        HTTPRequest(.get, "http://127.0.0.1/", headers: [(name: "A", value: "b\r\nC: d")]),
        HTTPRequest(.put, "http://127.0.0.1/", body: .source(ArraySource([1]), range: 0..<2)),
    ])
    func `an invalid request is refused`(request: HTTPRequest) async throws {
        let error = await #expect(throws: TransportError.self) {
            try await transport.send(request)
        }
        #expect(error?.kind == .invalid)
        #expect(error?.attempt.contains("secret") == false)
    }
}
