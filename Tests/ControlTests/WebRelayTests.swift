import Foundation
import Testing
import Transport

@testable import Control

/// Requests that the page's server passes on to the daemons.
@Suite(.timeLimit(.minutes(2)))
struct WebRelayTests {
    @Test func `each mount is listed`() async throws {
        try await WebFixture.run { web in
            let answer = try await web.send(.get, "/mounts")
            let list = try ControlJSON.decode(WebMountList.self, from: answer.body.utf8)
            #expect(list.mounts == [.init(id: web.id, mountPoint: "/mnt/cloud")])
        }
    }

    @Test func `queries and commands are passed on with their answers`() async throws {
        try await WebFixture.run { web in
            let base = "/mounts/\(web.id)/v1"
            let status = try await web.send(.get, "\(base)/status?limit=7&path=a%20b&path=c")
            #expect(status.status == 200)
            #expect(status.headers["content-type"] == "application/json")
            let report = try ControlJSON.decode(StatusReport.self, from: status.body.utf8)
            #expect(report == Sample.report)
            let sync = try await web.send(.post, "\(base)/sync", body: #"{"paths":["x"]}"#)
            #expect(sync.headers["content-type"] == "application/x-ndjson")
            #expect(sync.body.split(separator: "\n").count == 2)
            let download = try await web.send(.post, "\(base)/download", body: #"{"paths":["x"]}"#)
            #expect(download.body.contains("\"done\":true,\"failed\":[],\"files\":2,"))
            #expect(
                web.service.calls == [
                    .status(["a b", "c"], limit: 7), .sync(["x"]), .download(["x"]),
                ])
        }
    }

    @Test func `a refusal of the daemon is passed on with its status and reason`() async throws {
        let service = FakeMount()
        service.refuse(ControlError(.missing, what: "find \"x\"", why: "it does not exist"))
        try await WebFixture.run(service) { web in
            let answer = try await web.send(.get, "/mounts/\(web.id)/v1/status?path=x")
            #expect(answer.status == 404)
            #expect(answer.body.contains("it does not exist"))
        }
    }

    @Test func `a stream ends at the daemon when the page leaves`() async throws {
        let service = FakeMount()
        service.stayOpen()
        try await WebFixture.run(service) { web in
            let request = Task {
                try await web.send(
                    .post, "/mounts/\(web.id)/v1/sync", body: #"{"paths":["x"]}"#)
            }
            while service.calls.isEmpty { await Task.yield() }
            request.cancel()
            await service.streamEnded()
        }
    }

    @Test(arguments: [
        "unmount", "link", "trash/restore", "../v1/unmount", "", "SYNC", "status",
    ])
    func `no other command is passed on`(route: String) async throws {
        try await WebFixture.run { web in
            let answer = try await web.send(.post, "/mounts/\(web.id)/v1/\(route)", body: "{}")
            #expect(answer.status == 404, "\(route)")
            #expect(web.service.calls.isEmpty)
        }
    }

    @Test func `no command is a query, and no query is unknown`() {
        for route in ["unmount", "sync", "evict", "trash", "about/x"] {
            #expect(!RelayedRoutes.allow("GET", route))
        }
        for method in ["PUT", "DELETE", "HEAD", "OPTIONS", "get", ""] {
            #expect(!RelayedRoutes.allow(method, "status"))
        }
        #expect(RelayedRoutes.allow("GET", "status/watch"))
        #expect(RelayedRoutes.allow("GET", "changes"))
        #expect(RelayedRoutes.allow("POST", "resolve"))
    }

    @Test func `a mount that is not there is told as missing`() async throws {
        try await WebFixture.run { web in
            for id in ["x", "..", "%2e%2e", "\(web.id)A"] {
                let answer = try await web.send(.get, "/mounts/\(id)/v1/status")
                #expect(answer.status == 404, "\(id)")
            }
        }
    }

    @Test func `a picture or a text of a mount is shown, and nothing outside of it`() async throws {
        let folder = try TemporaryDirectory()
        let inside = folder.path + "/mount"
        let files = FileManager.default
        try files.createDirectory(atPath: inside + "/f", withIntermediateDirectories: true)
        let picture: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0]
        try Data(picture).write(to: URL(filePath: inside + "/f/a b.png"))
        try Data("plan".utf8).write(to: URL(filePath: inside + "/plan.txt"))
        try Data([0, 1, 2]).write(to: URL(filePath: inside + "/data"))
        try Data("<svg/>".utf8).write(to: URL(filePath: inside + "/x.svg"))
        try Data("secret".utf8).write(to: URL(filePath: folder.path + "/secret"))
        try files.createSymbolicLink(
            atPath: inside + "/link", withDestinationPath: folder.path + "/secret")
        try files.createSymbolicLink(atPath: inside + "/up", withDestinationPath: folder.path)
        try await WebFixture.run(mountPoint: inside) { web in
            func preview(_ path: String) async throws -> (Int, String?, String) {
                let answer = try await web.send(.get, "/mounts/\(web.id)/preview?path=\(path)")
                return (answer.status, answer.headers["content-type"], answer.body)
            }
            #expect(try await preview("f/a%20b.png").1 == "image/png")
            #expect(try await preview("plan.txt") == (200, "text/plain; charset=utf-8", "plan"))
            #expect(try await preview("x.svg").1 == "text/plain; charset=utf-8")
            #expect(try await preview("none").0 == 404)
            #expect(try await preview("../secret").0 == 400)
            for refused in ["data", "f", "", "link", "up/secret"] {
                let answer = try await preview(refused)
                #expect(answer.0 == 409 && !answer.2.contains("secret\n"), "\(refused): \(answer)")
            }
        }
    }

    @Test func `a text that is too long is not shown`() {
        let text = [UInt8](repeating: 0x61, count: FilePreview.textBytesMax)
        #expect(FilePreview.mediaType(of: text) == "text/plain; charset=utf-8")
        #expect(FilePreview.mediaType(of: text + [0x61]) == nil)
        #expect(FilePreview.mediaType(of: [0xC3]) == nil)
    }
}
