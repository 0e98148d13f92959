import Glibc
import TestServer
import Testing

extension MountedTests {
    @Suite
    struct `A file whose size the server does not tell` {
        private static let root = response("/dav/", "<resourcetype><collection/></resourcetype>")
        private static let told = response(
            "/dav/a", "<getetag>\"1\"</getetag><getcontentlength>0</getcontentlength>")
        private static let untold = response("/dav/x", "<getetag>\"1\"</getetag>")

        private static func response(_ href: String, _ properties: String) -> String {
            "<response><href>\(href)</href><propstat><prop>\(properties)</prop>"
                + "<status>HTTP/1.1 200 OK</status></propstat></response>"
        }

        private static func answer(_ request: ServedRequest) -> String {
            func multistatus(_ responses: String) -> String {
                let body = "<multistatus xmlns=\"DAV:\">\(responses)</multistatus>"
                return "HTTP/1.1 207 Multi-Status\r\nContent-Length: \(body.utf8.count)\r\n"
                    + "Connection: close\r\n\r\n\(body)"
            }
            func status(_ words: String) -> String {
                "HTTP/1.1 \(words)\r\nContent-Length: 0\r\nDAV: 1\r\nConnection: close\r\n\r\n"
            }
            switch (request.method, request.target) {
            case ("OPTIONS", _): return status("200 OK")
            case ("PROPFIND", "/dav/") where request["Depth"] == "1":
                return multistatus(root + told + untold)
            case ("PROPFIND", "/dav/"): return multistatus(root)
            case ("PROPFIND", "/dav/a"): return multistatus(told)
            case ("PROPFIND", "/dav/x"): return multistatus(untold)
            case ("PUT", _), ("MOVE", _), ("DELETE", _): return status("204 No Content")
            default: return status("404 Not Found")
            }
        }

        @Test(.timeLimit(.minutes(2)))
        func `is not shown, and stays as it is when its name is written to`() async throws {
            try await ScriptedServer.run { request, connection in
                _ = try connection.read(request.bodyBytes)
                try connection.write(Self.answer(request))
                connection.hangUp()
            } _: { server in
                let source = "webdav+http://127.0.0.1:\(server.port)/dav"
                try MountedFolder.with(.init(otherSource: source)) { folder in
                    #expect(try Files.names(in: folder.point) == ["a"])
                    let file = try OpenFile(folder.local("x"), O_WRONLY | O_APPEND | O_CREAT)
                    try file.append(Array("one line".utf8))
                    try file.close()
                    try eventually("the refusal is told", within: .seconds(60)) {
                        try folder.error(of: "x")?.contains("does not tell the size") ?? false
                    }
                    #expect(try Files.read(folder.local("x")) == Array("one line".utf8))
                    let changes = server.requests.filter { $0.target.hasPrefix("/dav/x") }
                        .map(\.method).filter { $0 != "PROPFIND" }
                    #expect(changes.isEmpty)
                    #expect(folder.logTail.contains("iles without a size"))
                    try folder.unmount(now: true)
                }
            }
        }
    }
}
