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

/// What a server says is looked at before it is believed.
@Suite struct HostileServerTests {
    private static let world = ProviderEnvironment(
        clock: SystemClock(), transport: HTTPTransport(), logger: Logger(label: "test"))

    // MARK: Answers

    private static func answer(
        _ status: String, _ headers: [String] = [], _ body: String = "", length: Int? = nil
    ) -> String {
        let lines =
            ["HTTP/1.1 \(status)", "Content-Length: \(length ?? body.utf8.count)"] + headers
            + ["Connection: close", "", body]
        return lines.joined(separator: "\r\n")
    }

    private static func multistatus(_ responses: String) -> String {
        "<multistatus xmlns=\"DAV:\">\(responses)</multistatus>"
    }

    private static func response(_ href: String, _ properties: String) -> String {
        "<response><href>\(href)</href><propstat><prop>\(properties)</prop>"
            + "<status>HTTP/1.1 200 OK</status></propstat></response>"
    }

    private static let collection = "<resourcetype><collection/></resourcetype>"
    private static let root = response("/dav/", collection)
    private static let file = "<getetag>\"1\"</getetag><getcontentlength>10</getcontentlength>"

    /// A server that answers each connection's one request with `answer`, and hangs up.
    private static func serve(
        _ answer: @escaping @Sendable (ServedRequest) -> String,
        _ body: (ScriptedServer) async throws -> Void
    ) async throws {
        try await ScriptedServer.run(
            { request, connection in
                _ = try connection.read(request.bodyBytes)
                try connection.write(answer(request))
                connection.hangUp()
            }, body)
    }

    private static func source(_ server: ScriptedServer) -> String {
        "webdav+http://127.0.0.1:\(server.port)/dav"
    }

    /// A server that is a class 1 server with an empty root, but for what `script` says.
    private func with(
        _ script: @escaping @Sendable (ServedRequest) -> String?,
        _ body: (WebDAVProvider, ScriptedServer) async throws -> Void
    ) async throws {
        try await Self.serve { request in
            if let answer = script(request) { return answer }
            switch (request.method, request.target) {
            case ("OPTIONS", _): return Self.answer("200 OK", ["DAV: 1"])
            case ("PROPFIND", "/dav/"):
                return Self.answer("207 Multi-Status", [], Self.multistatus(Self.root))
            case ("PROPFIND", _):
                let found = Self.response(request.target, Self.file)
                return Self.answer("207 Multi-Status", [], Self.multistatus(found))
            default: return Self.answer("405 Method Not Allowed")
            }
        } _: { server in
            let provider = try await WebDAVProvider.connect(
                to: Self.source(server), world: Self.world, pageEntries: 10)
            try await body(provider, server)
        }
    }

    private func kind(_ call: () async throws -> Void) async -> ProviderError.Kind? {
        do { try await call() } catch { return (error as? ProviderError)?.kind }
        return nil
    }

    private func key(_ name: String) throws -> ObjectKey {
        ObjectKey([try #require(FileName(name))])
    }

    // MARK: Listings

    private func listing(_ body: String, length: Int? = nil) async throws -> Result<
        [String], ProviderError
    > {
        let outcome = LockedValue<Result<[String], ProviderError>>()
        try await with { request in
            guard request["Depth"] == "1" else { return nil }
            return Self.answer("207 Multi-Status", [], body, length: length)
        } _: { provider, _ in
            do throws(ProviderError) {
                let page = try await provider.entries(of: .root).next()
                outcome.value = .success(page.objects.map(\.name.description))
            } catch {
                outcome.value = .failure(error)
            }
        }
        return try #require(outcome.value)
    }

    @Test func `only children of the collection are listed`() async throws {
        let hrefs = [
            "/dav/a", "/dav/../etc/passwd", "/dav/b/c", "/other/d", "/dav/e%2Ff", "/dav/%00",
            "/dav/..", "/dav/%2e", "http://elsewhere/dav/g", "/dav/h/", "h", "", "/dav/%",
            "/dav/.apus-new-0123456789abcdef",
        ]
        let responses = hrefs.map { Self.response($0, Self.file) }.joined()
        let found = try await listing(Self.multistatus(Self.root + responses)).get()
        #expect(found == ["a", "g", "h"])
    }

    @Test func `a listing that is cut short, or of something else, is none`() async throws {
        let whole = Self.multistatus(Self.root + Self.response("/dav/a", Self.file))
        let cut = String(whole.dropLast(20))
        for (body, length) in [
            (cut, nil), (whole, whole.utf8.count + 5), ("", nil), ("<html/>", nil),
            (Self.multistatus(Self.response("/other/", Self.collection)), nil),
        ] as [(String, Int?)] {
            let found = try await listing(body, length: length)
            guard case .failure(let error) = found else {
                Issue.record("a listing of \(body)")
                continue
            }
            #expect(error.isPassing, "\(error)")
        }
    }

    /// A response in which every property has one status.
    private static func response(_ href: String, allOf status: String) -> String {
        "<response><href>\(href)</href><propstat><prop><resourcetype/><getetag/></prop>"
            + "<status>HTTP/1.1 \(status)</status></propstat></response>"
    }

    private static func response(_ href: String, status: String) -> String {
        "<response><href>\(href)</href><status>HTTP/1.1 \(status)</status></response>"
    }

    private static func locked(_ href: String, others status: String) -> String {
        "<response><href>\(href)</href><propstat><prop><resourcetype/></prop>"
            + "<status>HTTP/1.1 200 OK</status></propstat><propstat><prop><getetag/>"
            + "<getcontentlength/><getlastmodified/></prop>"
            + "<status>HTTP/1.1 \(status)</status></propstat></response>"
    }

    /// What a server would not tell of `/dav/x`.
    private static let untold = [
        response("/dav/x", status: "403 Forbidden"),
        response("/dav/x", status: "503 Service Unavailable"),
        response("/dav/x", status: "nonsense"),
        response("/dav/x", allOf: "403 Forbidden"),
        response("/dav/x", allOf: "404 Not Found"),
        response("/dav/x", allOf: "500 Internal Server Error"),
        locked("/dav/x", others: "403 Forbidden"),
        locked("/dav/x", others: "503 Service Unavailable"),
        "<response><href>/dav/x</href></response>",
    ]

    @Test(arguments: untold)
    func `a name that the server does not describe is never taken for gone`(
        response: String
    ) async throws {
        let children = Self.response("/dav/a", Self.file) + response
        try await with { request in
            if request["Depth"] == "1" {
                return Self.answer(
                    "207 Multi-Status", [], Self.multistatus(Self.root + children))
            }
            guard request.target == "/dav/x" else { return nil }
            return Self.answer("207 Multi-Status", [], Self.multistatus(response))
        } _: { provider, _ in
            for call in [
                { _ = try await provider.entries(of: .root).next() },
                { [key = try key("x")] in _ = try await provider.stat(key) },
            ] {
                let error = await #expect(throws: ProviderError.self) { try await call() }
                #expect(error?.kind == .busy)
                #expect(error?.reason.contains("\"x\"") == true)
            }
        }
    }

    @Test func `what is only locked, or gone while it was listed, is not there`() async throws {
        let responses = [
            Self.locked("/dav/x", others: "404 Not Found"),
            Self.response("/dav/y", status: "404 Not Found"), Self.response("/dav/a", Self.file),
        ]
        let found = try await listing(Self.multistatus(Self.root + responses.joined())).get()
        #expect(found == ["a"])
    }

    /// What a server may say of the size of a file that has bytes.
    private static let unknownSizes = [
        "", "<getcontentlength/>", "<getcontentlength>-5</getcontentlength>",
        "<getcontentlength>99999999999999999999</getcontentlength>",
        "<getcontentlength>9223372036854775808</getcontentlength>",
    ]

    @Test(arguments: unknownSizes)
    func `a file of unknown size is never taken for an empty one, nor written over`(
        size: String
    ) async throws {
        let file = Self.response("/dav/x", "<getetag>\"1\"</getetag>" + size)
        let children = Self.response("/dav/a", Self.file) + file
        try await with { request in
            if request["Depth"] == "1" {
                return Self.answer(
                    "207 Multi-Status", [], Self.multistatus(Self.root + children))
            }
            guard request.target == "/dav/x" else { return nil }
            if request.method == "PUT" { return Self.answer("204 No Content") }
            return Self.answer("207 Multi-Status", [], Self.multistatus(file))
        } _: { provider, server in
            let names = try await provider.entries(of: .root).next().objects.map(\.name.description)
            #expect(names == ["a"])
            let key = try key("x")
            let attributes = ObjectAttributes(modified: Timestamp(seconds: 1), mode: 0o644)
            for call in [
                { _ = try await provider.stat(key) },
                {
                    _ = try await provider.write(
                        key, from: SameBytes(size: 3), attributes: attributes, base: .absent,
                        session: UntrackedUpload())
                },
                {
                    _ = try await provider.write(
                        key, from: SameBytes(size: 3), attributes: attributes,
                        base: .version(ETag("1")),
                        session: UntrackedUpload())
                },
                { try await provider.delete(key, kind: .file, etag: ETag("1")) },
            ] {
                let error = await #expect(throws: ProviderError.self) { try await call() }
                #expect(error?.kind == .unsupported && error?.remedy != nil)
                #expect(error?.reason.contains("the size of \"x\"") == true)
            }
            #expect(!server.requests.contains { ["PUT", "DELETE", "MOVE"].contains($0.method) })
        }
    }

    @Test func `a directory that the server does not describe is not taken for a file`()
        async throws
    {
        for own in [
            Self.response("/dav/", status: "403 Forbidden"),
            Self.response("/dav/", allOf: "503 Service Unavailable"),
        ] {
            guard case .failure(let error) = try await listing(Self.multistatus(own)) else {
                Issue.record("a listing")
                continue
            }
            #expect(error.isPassing, "\(error)")
        }
    }

    @Test func `a large directory is listed whole, in pages`() async throws {
        let children = (0..<2_345).map { Self.response("/dav/\($0)", Self.file) }.joined()
        let body = Self.multistatus(Self.root + children)
        try await with { request in
            guard request["Depth"] == "1" else { return nil }
            return Self.answer("207 Multi-Status", [], body)
        } _: { provider, server in
            let before = server.requests.count
            var names: Set<FileName> = []
            let cursor = provider.entries(of: .root)
            var page: ListingPage
            repeat {
                page = try await cursor.next()
                #expect(page.objects.count <= 10)
                names.formUnion(page.objects.map(\.name))
            } while !page.isLast
            #expect(names.count == 2_345)
            #expect(server.requests.count == before + 1)
        }
    }

    @Test(arguments: ["/dav/d/child", "/dav/d/a%2Fb", "/elsewhere/child", "/dav/d/..", "?"])
    func `a directory is not deleted with anything that is in it`(href: String) async throws {
        let own = Self.response("/dav/d/", Self.collection)
        try await with { request in
            guard request.method == "PROPFIND", request.target.hasPrefix("/dav/d") else {
                return nil
            }
            let child = request["Depth"] == "1" ? Self.response(href, Self.file) : ""
            return Self.answer("207 Multi-Status", [], Self.multistatus(own + child))
        } _: { provider, server in
            let key = try key("d")
            #expect(
                await kind { try await provider.delete(key, kind: .directory, etag: nil) }
                    == .notEmpty)
            #expect(!server.requests.contains { $0.method == "DELETE" })
        }
    }

    @Test func `a collection that is only known by its slash is found`() async throws {
        try await with { request in
            guard request.method == "PROPFIND" else { return nil }
            switch request.target {
            case "/dav/d": return Self.answer("301 Moved Permanently", ["Location: /dav/d/"])
            case "/dav/d/":
                let own = Self.response("/dav/d/", Self.collection)
                return Self.answer("207 Multi-Status", [], Self.multistatus(own))
            default: return nil
            }
        } _: { provider, _ in
            let object = try await provider.stat(try key("d"))
            #expect(object.kind == .directory)
        }
    }

    // MARK: Bytes

    /// Reads bytes 2 to 4 of a file of ten whose server answers a GET so.
    private func read(_ get: String) async throws -> (kind: ProviderError.Kind?, bytes: [UInt8]) {
        let collector = BytesCollector()
        let outcome = LockedValue<ProviderError.Kind>()
        try await with {
            $0.method == "GET" ? get : nil
        } _: { provider, _ in
            outcome.value = await kind {
                try await provider.read(
                    try key("file"), range: 2..<5, etag: ETag("\"1\""), into: collector)
            }
        }
        return (outcome.value, collector.bytes.withLock { $0 })
    }

    @Test func `a range is what was asked for, or nothing`() async throws {
        let whole = "0123456789"
        let right = ["ETag: \"1\"", "Content-Range: bytes 2-4/10"]
        let good = [
            Self.answer("206 Partial Content", right, "234"),
            // Some servers send the whole file.
            Self.answer("200 OK", ["ETag: \"1\""], whole),
            Self.answer("200 OK", [], whole),
        ]
        for answer in good {
            let found = try await read(answer)
            #expect(found.kind == nil && found.bytes == Array("234".utf8), "\(answer)")
        }
        let bad: [(String, ProviderError.Kind)] = [
            (Self.answer("206 Partial Content", ["ETag: \"1\""], "234"), .corrupt),
            (
                Self.answer(
                    "206 Partial Content", ["ETag: \"1\"", "Content-Range: bytes 3-5/10"], "345"),
                .corrupt
            ),
            (Self.answer("206 Partial Content", right, "2345"), .corrupt),
            (Self.answer("206 Partial Content", right, "23"), .corrupt),
            (
                Self.answer(
                    "206 Partial Content", ["ETag: \"2\"", "Content-Range: bytes 2-4/10"], "234"),
                .changed
            ),
            (
                // A shorter version.
                Self.answer(
                    "206 Partial Content", ["ETag: \"2\"", "Content-Range: bytes 2-3/4"], "23"),
                .changed
            ),
            (Self.answer("200 OK", ["ETag: \"2\""], whole), .changed),
            (Self.answer("200 OK", ["ETag: \"1\""], "012"), .corrupt),
            (Self.answer("200 OK", ["ETag: \"1\"", "Content-Encoding: gzip"], whole), .corrupt),
            (Self.answer("204 No Content"), .corrupt),
            (Self.answer("403 Forbidden"), .denied),
            (Self.answer("401 Unauthorized"), .unauthorized),
            (Self.answer("500 Internal Server Error"), .unreachable),
        ]
        for (answer, kind) in bad {
            let found = try await read(answer)
            #expect(found.kind == kind, "\(answer)")
        }
    }

    // MARK: Refusals

    @Test func `a refusal is told in the server's own words, and no more than some`() async throws {
        let words = String(repeating: "long ", count: 1_000)
        let body = """
            <?xml version="1.0"?><d:error xmlns:d="DAV:" xmlns:s="http://sabredav.org/ns">
            <s:exception>Sabre\\DAV\\Exception</s:exception><s:message>No, \u{1B}\(words)</s:message>
            </d:error>
            """.replacing("\u{1B}", with: "")
        try await with { request in
            guard request.method == "MKCOL" else { return nil }
            return Self.answer("507 Insufficient Storage", [], body)
        } _: { provider, _ in
            let found = LockedValue<ProviderError>()
            do throws(ProviderError) {
                _ = try await provider.createDirectory(
                    .root.appending(WebDAVName.new()),
                    attributes: ObjectAttributes(modified: Timestamp(seconds: 0), mode: 0o755))
            } catch {
                found.value = error
            }
            // A name of our own is refused before the server is asked.
            #expect(found.value?.kind == .unsupported)
        }
        let answer = WebDAVAnswer(
            response: HTTPResponse(status: 507), body: Array(body.utf8), time: Timestamp(seconds: 0)
        )
        let failure = answer.failure
        #expect(failure.kind == .full)
        #expect(failure.reason.contains("No, long long"))
        #expect(failure.reason.count < 300)
    }

    @Test(
        arguments: [
            (400, .unsupported), (401, .unauthorized), (403, .denied), (404, .missing),
            (409, .missing), (412, .changed), (413, .unsupported), (423, .busy), (429, .busy),
            (500, .unreachable), (502, .unreachable), (503, .busy), (507, .full),
            (301, .unsupported),
        ] as [(Int, ProviderError.Kind)])
    func `each status means one thing`(status: Int, kind: ProviderError.Kind) {
        let answer = WebDAVAnswer(
            response: HTTPResponse(status: status), body: [], time: Timestamp(seconds: 0))
        #expect(answer.failure.kind == kind)
    }

    @Test func `a refusal within a multistatus is one`() {
        let body = Self.multistatus(
            "<response><href>/dav/a</href><status>HTTP/1.1 424 Failed Dependency</status></response>"
                + "<response><href>/dav</href><status>HTTP/1.1 423 Locked</status></response>")
        let answer = WebDAVAnswer(
            response: HTTPResponse(status: 207), body: Array(body.utf8),
            time: Timestamp(seconds: 0))
        #expect(answer.status == 423)
        let damaged = WebDAVAnswer(
            response: HTTPResponse(status: 207), body: Array(body.utf8.dropLast(5)),
            time: Timestamp(seconds: 0))
        #expect(!damaged.isSuccess)
    }

    @Test func `a busy server says for how long`() async throws {
        try await with { request in
            guard request.method == "PROPFIND", request.target != "/dav/" else { return nil }
            return Self.answer("503 Service Unavailable", ["Retry-After: 7"])
        } _: { provider, _ in
            let key = try key("file")
            do throws(ProviderError) {
                _ = try await provider.stat(key)
                Issue.record("it was not busy")
            } catch {
                #expect(error.kind == .busy)
                #expect(error.retryAfter == .seconds(7))
            }
        }
    }

    @Test(arguments: [
        "200 OK", "404 Not Found", "401 Unauthorized", "301 Moved Permanently",
    ])
    func `what is no WebDAV server is not mounted`(status: String) async throws {
        try await Self.serve { _ in
            Self.answer(status, ["Location: http://x/?secret"])
        } _: {
            server in
            let source = try Source(parsing: Self.source(server))
            let error = await #expect(throws: SourceError.self) {
                _ = try await source.connect(Self.world)
            }
            #expect(error?.kind == .unavailable)
            #expect(error?.description.contains("secret") == false)
        }
    }
}

private final class BytesCollector: ByteSink {
    let bytes = Mutex<[UInt8]>([])

    func write(_ piece: UnsafeRawBufferPointer, at offset: UInt64) throws {
        bytes.withLock { $0 += Array(piece) }
    }
}
