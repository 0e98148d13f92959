import Foundation
import TestBytes
import TestServer
import Testing

@testable import Transport

@Suite(.timeLimit(.minutes(2)))
struct RedirectTests {
    /// Method, status, URL, Location, and the redirected URL; nil if the redirect is not followed.
    @Test(arguments: [
        (HTTPMethod.get, 302, "http://a/x", "/y", "http://a/y" as String?),
        (.get, 301, "http://a/x/y", "z?q=1", "http://a/x/z?q=1"),
        (.get, 302, "http://a/x", "https://b/y", "https://b/y"),
        (.get, 302, "http://a/x", "http://a:80/y", "http://a:80/y"),
        (.get, 302, "http://a/x", "http://b/y", nil),
        (.get, 302, "http://a/x", "http://a:8080/y", nil),
        (.get, 302, "https://a/x", "http://a/y", nil),
        (.get, 302, "http://a/x", "file:///etc/passwd", nil),
        (.get, 302, "http://a/x", "gopher://a/y", nil),
        (.get, 302, "http://a/x", "https://me:secret@b/y", nil),
        (.get, 302, "http://a/x", "https://", nil),
        (.get, 304, "http://a/x", "/y", nil),
        (.get, 200, "http://a/x", "/y", nil),
        (.propfind, 301, "http://a/x", "/x/", "http://a/x/"),
        (.put, 302, "http://a/x", "/y", nil),
        (.delete, 301, "http://a/x", "/y", nil),
        (.put, 307, "http://a/x", "/y", "http://a/y"),
        (.put, 308, "http://a/x", "https://b/y", "https://b/y"),
    ])
    func `a redirect is followed to the same host or by HTTPS only`(
        method: HTTPMethod, status: Int, url: String, location: String, target: String?
    ) {
        let request = HTTPRequest(method, url, redirects: .sameHostOrHTTPS(max: 1))
        let next = Redirect.next(after: response(status, location), to: request)
        #expect(next?.url == target)
        #expect(next.map(\.method) == target.map { _ in method })
    }

    @Test(arguments: [
        ("http://a/x", "http://a/y", true), ("http://a/x", "https://a/y", true),
        ("http://a:81/x", "https://a/y", false), ("http://a/x", "https://a:444/y", false),
        ("https://a/x", "https://b/y", false), ("https://a/x", "https://a:444/y", false),
        ("https://a/x", "https://a.b/y", false),
    ])
    func `another host receives nothing that identifies the user`(
        url: String, location: String, isTold: Bool
    ) throws {
        let secrets = ["Authorization", "Cookie", "X-Amz-Security-Token", "Destination", "X-Any"]
        let request = HTTPRequest(
            .get, url, headers: (secrets + ["Range"]).map { (name: $0, value: "v") },
            credentials: .bearer("secret"), unixSocketPath: "/s",
            redirects: .sameHostOrHTTPS(max: 1))
        let next = try #require(Redirect.next(after: response(302, location), to: request))
        #expect(next.headers.map(\.name) == (isTold ? secrets + ["Range"] : ["Range"]))
        #expect((next.credentials != nil) == isTold)
    }

    @Test func `303 is followed with GET and without the body`() throws {
        let request = HTTPRequest(
            .post, "http://a/x", body: .bytes([1]), redirects: .sameHostOrHTTPS(max: 3))
        let next = try #require(Redirect.next(after: response(303, "/y"), to: request))
        #expect(next.method == .get)
        guard case .none = next.body else { return #expect(Bool(false), "it has a body") }
        #expect(next.redirects == .sameHostOrHTTPS(max: 2))
    }

    @Test func `a redirect is followed with the body and the credentials`() async throws {
        try await ScriptedServer.run { request, connection in
            let body = try connection.read(request.bodyBytes)
            if request.target == "/old" {
                try connection.answer("307 Moved", ["Location: /new"], TestBytes.random(100))
            } else {
                try connection.answer("201 Created", [], body)
            }
        } _: { server in
            let sink = CollectingSink()
            let response = try await HTTPTransport().send(
                HTTPRequest(
                    .put, server.url("/old"), body: .bytes([1, 2, 3]),
                    credentials: .bearer("token"), redirects: .sameHostOrHTTPS(max: 3)), into: sink)
            #expect(response.status == 201)
            #expect(sink.bytes == [1, 2, 3])
            #expect(server.requests.map(\.target) == ["/old", "/new"])
            #expect(
                server.requests.map { $0["authorization"] } == ["Bearer token", "Bearer token"])
        }
    }

    /// Goal: no server can make us send a secret elsewhere or read a local file.
    @Test(arguments: [
        "http://127.0.0.1:PORT/x", "//127.0.0.1:PORT/x", "file:///etc/passwd", "ftp://a/b",
    ])
    func `a redirect to elsewhere is not followed`(location: String) async throws {
        try await ScriptedServer.run { _, connection in
            try connection.answer("200 OK", [], TestBytes.random(7))
        } _: { other in
            let location = location.replacing("PORT", with: "\(other.port)")
            try await ScriptedServer.run { _, connection in
                try connection.answer("302 Found", ["Location: \(location)"], TestBytes.random(5))
            } _: { server in
                let (response, body) = try await HTTPTransport().send(
                    HTTPRequest(
                        .get, server.url("/"), headers: [(name: "Cookie", value: "secret")],
                        credentials: .basic(user: "me", password: "secret"),
                        redirects: .sameHostOrHTTPS(max: 4)))
                #expect(response.status == 302)
                #expect(body == TestBytes.random(5))
                #expect(server.requests.count == 1)
                #expect(other.connectionCount == 0)
            }
        }
    }

    @Test func `a redirect loop ends after the allowed number of redirects`() async throws {
        try await ScriptedServer.run { _, connection in
            try connection.answer("302 Found", ["Location: /again"], TestBytes.random(5))
        } _: { server in
            let (response, body) = try await HTTPTransport().send(
                HTTPRequest(.get, server.url("/"), redirects: .sameHostOrHTTPS(max: 4)))
            #expect(response.status == 302)
            #expect(body == TestBytes.random(5))
            #expect(server.requests.count == 5)
        }
    }

    @Test func `without a policy a redirect is returned as the answer`() async throws {
        try await ScriptedServer.run { _, connection in
            try connection.answer("302 Found", ["Location: /again"])
        } _: { server in
            let (response, _) = try await HTTPTransport().send(HTTPRequest(.get, server.url("/")))
            #expect(response.status == 302)
            #expect(server.requests.count == 1)
        }
    }

    private func response(_ status: Int, _ location: String) -> HTTPResponse {
        HTTPResponse(
            status: status, headers: HTTPHeaders([(name: "Location", value: location)]))
    }
}
