import Logging
import Synchronization
import TestServer
import Testing
import Transport

/// Goal: the log of requests has all that explains a problem, and no secret.
@Suite("The log of requests", .timeLimit(.minutes(1)))
struct RequestLogTests {
    private let entries = CollectedEntries()

    private func transport(_ level: Logger.Level) -> HTTPTransport {
        var options = TransportOptions()
        options.logger = Logger(label: "transport") { [entries] _ in
            CollectingHandler(entries: entries, logLevel: level)
        }
        return HTTPTransport(options)
    }

    @Test func `has method, path, status, bytes, duration and the server's name of it`()
        async throws
    {
        try await ScriptedServer.run { request, connection in
            _ = try connection.read(request.bodyBytes)
            try connection.answer("201 Created", ["X-Amz-Request-Id: 4711"], Array("done".utf8))
        } _: { server in
            _ = try await transport(.debug).send(
                HTTPRequest(.put, server.url("/a/b%20c?partNumber=1"), body: .bytes([1, 2, 3])))
            let text = try #require(entries.texts.first)
            #expect(entries.texts.count == 1)
            #expect(text.hasPrefix("debug PUT \(server.url("/a/b%20c")): status 201"), "\(text)")
            for part in ["sentBytes=3", "receivedBytes=4", "requestID=4711", "milliseconds="] {
                #expect(text.contains(part), "\(text)")
            }
        }
    }

    @Test func `has the reason of a failure`() async throws {
        try await ScriptedServer.run { _, connection in
            connection.hangUp()
        } _: { server in
            _ = try? await transport(.debug).send(HTTPRequest(.get, server.url("/a")))
            let text = try #require(entries.texts.first)
            #expect(text.hasPrefix("debug GET \(server.url("/a")): ") && text.count > 60, "\(text)")
        }
    }

    @Test func `has no secret, whatever the result`() async throws {
        let secret = "S3CRET"
        try await ScriptedServer.run { request, connection in
            if request.target.hasPrefix("/broken") { return connection.hangUp() }
            let status = request.target.hasPrefix("/refused") ? "403 Forbidden" : "200 OK"
            try connection.answer(status, ["Set-Cookie: s=\(secret)"], Array(secret.utf8))
        } _: { server in
            let transport = transport(.trace)
            for path in ["/ok", "/refused", "/broken"] {
                for credentials in [
                    HTTPCredentials.basic(user: "me", password: secret), .bearer(secret),
                    .negotiated(user: "me", password: secret),
                ] {
                    _ = try? await transport.send(
                        HTTPRequest(
                            .get, server.url(path + "?X-Amz-Signature=\(secret)&token=\(secret)"),
                            headers: [("Authorization", "AWS4 \(secret)"), ("X-Token", secret)],
                            credentials: credentials))
                }
            }
            #expect(entries.texts.count >= 9)
            #expect(!entries.texts.contains { $0.contains(secret) || $0.contains("?") })
        }
    }

    @Test func `is empty above the level debug`() async throws {
        try await ScriptedServer.run { _, connection in
            try connection.answer("200 OK", [], [])
        } _: { server in
            _ = try await transport(.info).send(HTTPRequest(.get, server.url("/a")))
            #expect(entries.texts.isEmpty)
        }
    }
}

private final class CollectedEntries: Sendable {
    private let collected = Mutex<[String]>([])

    var texts: [String] { collected.withLock { $0 } }

    func add(_ text: String) { collected.withLock { $0.append(text) } }
}

private struct CollectingHandler: LogHandler {
    let entries: CollectedEntries
    var logLevel: Logger.Level
    var metadata: Logger.Metadata = [:]

    init(entries: CollectedEntries, logLevel: Logger.Level) {
        (self.entries, self.logLevel) = (entries, logLevel)
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let values = (event.metadata ?? [:]).map { "\($0)=\($1)" }.sorted()
        entries.add(
            (["\(event.level)", "\(event.message)"] + values).joined(separator: " "))
    }
}
