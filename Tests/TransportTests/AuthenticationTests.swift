import Digests
import Foundation
import Logging
import Synchronization
import TestBytes
import TestServer
import Testing
import Transport

@Suite(.timeLimit(.minutes(2)))
struct AuthenticationTests {
    private let transport = HTTPTransport()
    private let me = HTTPCredentials.negotiated(user: "me", password: "secret")

    @Test func `Digest is answered, and a change is never sent without its body`() async throws {
        let bytes = TestBytes.random(300_000)
        let stored = Mutex<[[UInt8]]>([])
        try await ScriptedServer.run { request, connection in
            let isAllowed = DigestCheck.isAnswered(by: request, user: "me", password: "secret")
            if !isAllowed, request["expect"] != nil {
                // Refused before the body is sent, so the connection cannot be reused.
                try connection.answer(
                    "401 Unauthorized", [DigestCheck.challenge], TestBytes.random(10))
                throw POSIXError(.ECONNRESET)
            }
            if request["expect"] != nil { try connection.write("HTTP/1.1 100 Continue\r\n\r\n") }
            let body = try connection.read(request.bodyBytes)
            if isAllowed { stored.withLock { $0.append(body) } }
            try connection.answer(
                isAllowed ? "201 Created" : "401 Unauthorized",
                isAllowed ? [] : [DigestCheck.challenge], TestBytes.random(10))
        } _: { server in
            for length in [bytes.count, 1_000] {
                let sink = CollectingSink()
                let response = try await transport.send(
                    HTTPRequest(
                        .put, server.url("/file"),
                        body: .source(ArraySource(bytes), range: 0..<UInt64(length)),
                        credentials: me), into: sink)
                #expect(response.status == 201)
                #expect(sink.responses == [response], "the refusal's body reached the sink")
            }
            #expect(server.requests.allSatisfy { $0.bodyBytes > 0 })
        }
        #expect(stored.withLock { $0 } == [bytes, Array(bytes[..<1_000])])
    }

    @Test func `a server without authentication gets one complete request`() async throws {
        try await ScriptedServer.run { request, connection in
            _ = try connection.read(request.bodyBytes)
            try connection.answer("201 Created")
        } _: { server in
            let (response, _) = try await transport.send(
                HTTPRequest(.put, server.url("/"), body: .bytes([1, 2, 3]), credentials: me))
            #expect(response.status == 201)
            #expect(server.requests.map(\.bodyBytes) == [3])
            #expect(server.requests.first?["authorization"] == nil)
        }
    }

    @Test func `Basic is negotiated once, then sent at once`() async throws {
        try await ScriptedServer.run { request, connection in
            let isAllowed = request["authorization"] == "Basic bWU6c2VjcmV0"
            try connection.answer(
                isAllowed ? "200 OK" : "401 Unauthorized",
                isAllowed ? [] : ["WWW-Authenticate: Basic realm=\"here\""])
        } _: { server in
            for _ in 0..<3 {
                let (response, _) = try await transport.send(
                    HTTPRequest(.get, server.url("/"), credentials: me))
                #expect(response.status == 200)
            }
            #expect(server.requests.count == 4)
        }
    }

    @Test func `wrong credentials are an answer of 401`() async throws {
        try await ScriptedServer.run { _, connection in
            try connection.answer("401 Unauthorized", ["WWW-Authenticate: Basic realm=\"here\""])
        } _: { server in
            let (response, _) = try await transport.send(
                HTTPRequest(.get, server.url("/"), credentials: me))
            #expect(response.status == 401)
        }
    }

    @Test(arguments: [
        (HTTPCredentials.basic(user: "me", password: "secret"), "Basic bWU6c2VjcmV0"),
        (.bearer("token"), "Bearer token"),
    ])
    func `credentials that need no question come first`(
        credentials: HTTPCredentials, header: String
    ) async throws {
        try await ScriptedServer.run { _, connection in
            try connection.answer("200 OK")
        } _: { server in
            _ = try await transport.send(
                HTTPRequest(.get, server.url("/"), credentials: credentials))
            #expect(server.requests.map { $0["authorization"] } == [header])
        }
    }

    @Test func `the log contains no secret`() async throws {
        let lines = Mutex<[String]>([])
        var options = TransportOptions()
        options.logger = Logger(label: "test") { _ in
            CapturingLog { line in
                lines.withLock { $0.append(line) }
            }
        }
        let transport = HTTPTransport(options)
        try await ScriptedServer.run { _, connection in
            try connection.answer("200 OK", ["Set-Cookie: secret"])
        } _: { server in
            let headers = [
                (name: "Authorization", value: "secret"),
                (name: "X-Amz-Security-Token", value: "secret"),
            ]
            for url in [server.url("/path?signature=secret"), "http://127.0.0.1:1/path?x=secret"] {
                for credentials in [me, .bearer("secret"), nil] {
                    _ = try? await transport.send(
                        HTTPRequest(.get, url, headers: headers, credentials: credentials))
                }
            }
        }
        let logged = lines.withLock { $0 }
        #expect(logged.count == 6)
        for line in logged {
            #expect(line.contains("/path"))
            #expect(!line.contains("secret") && !line.contains("c2VjcmV0"))
        }
    }
}

/// RFC 7616 with MD5, as a server checks it.
private enum DigestCheck {
    static let challenge =
        "WWW-Authenticate: Digest realm=\"here\", qop=\"auth\", nonce=\"0123\", algorithm=MD5"

    static func isAnswered(by request: ServedRequest, user: String, password: String) -> Bool {
        guard let header = request["authorization"], header.hasPrefix("Digest ") else {
            return false
        }
        var fields: [String: String] = [:]
        for part in header.dropFirst("Digest ".count).components(separatedBy: ",") {
            let pair = part.split(separator: "=", maxSplits: 1)
            let name = pair[0].trimmingCharacters(in: .whitespaces)
            fields[name] = pair[1].trimmingCharacters(in: CharacterSet(charactersIn: "\" "))
        }
        let who = md5("\(user):here:\(password)")
        let what = md5("\(request.method):\(request.target)")
        let expected = md5(
            [who, "0123", fields["nc"] ?? "", fields["cnonce"] ?? "", "auth", what]
                .joined(separator: ":"))
        return fields["username"] == user && fields["response"] == expected
    }

    private static func md5(_ text: String) -> String {
        MD5.hash(data: Array(text.utf8)).map { String(format: "%02x", $0) }.joined()
    }
}

private struct CapturingLog: LogHandler {
    let write: @Sendable (String) -> Void
    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level = .trace

    init(_ write: @escaping @Sendable (String) -> Void) {
        self.write = write
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        write("\(event.message) \(event.metadata ?? [:])")
    }
}
