import Foundation
import Testing
import Transport

@testable import Control

/// The protection of the page that `apus web` serves.
@Suite(.timeLimit(.minutes(2)))
struct WebAccessTests {
    @Test func `a token is long, of its own, and compared as a whole`() {
        let token = PageToken()
        #expect(token.text.count == 64)
        #expect(token.text != PageToken().text)
        #expect(token.isIn(authorization: "Bearer \(token.text)"))
        for wrong in [
            nil, "", "Bearer ", token.text, "Bearer \(PageToken().text)",
            "Bearer \(token.text.dropLast())", "Bearer \(token.text)0", "bearer \(token.text)",
        ] {
            #expect(!token.isIn(authorization: wrong), "\(wrong ?? "none")")
        }
    }

    @Test func `every request but those for the page's files needs the token`() async throws {
        try await WebFixture.run { web in
            let base = "/mounts/\(web.id)"
            for path in ["/mounts", "\(base)/v1/status", "\(base)/preview?path=a"] {
                let answer = try await web.send(.get, path, hasToken: false)
                #expect(answer.status == 401, "\(path)")
                #expect(answer.body.contains("apus web"), "\(answer.body)")
                let wrong = try await web.send(
                    .get, path, hasToken: false,
                    headers: ["Authorization": "Bearer \(PageToken().text)"])
                #expect(wrong.status == 401, "\(path)")
            }
            #expect(try await web.send(.get, "/", hasToken: false).status == 200)
            #expect(try await web.send(.get, "/nothing", hasToken: false).status == 401)
            #expect(web.service.calls.isEmpty)
            #expect(try await web.send(.get, "/mounts").status == 200)
        }
    }

    @Test func `a name that resolves to this machine is refused`() async throws {
        try await WebFixture.run { web in
            let foreign = [
                "evil.example.org", "evil.example.org:\(web.port)", "127.0.0.1", "127.0.0.1:1",
            ]
            for path in ["/", "/mounts"] {
                for host in foreign {
                    let answer = try await web.send(.get, path, headers: ["Host": host])
                    #expect(answer.status == 403, "\(host)\(path)")
                }
                let local = try await web.send(
                    .get, path, headers: ["Host": "localhost:\(web.port)"])
                #expect(local.status == 200)
            }
        }
    }

    @Test func `a request by another site is refused, even with the token`() async throws {
        try await WebFixture.run { web in
            let path = "/mounts/\(web.id)/v1/evict"
            let foreign: [[String: String]] = [
                ["Origin": "https://evil.example.org"], ["Origin": "null"],
                ["Origin": "http://127.0.0.1:1"], ["Origin": "https://127.0.0.1:\(web.port)"],
                ["Sec-Fetch-Site": "cross-site"], ["Sec-Fetch-Site": "same-site"],
            ]
            for headers in foreign {
                let answer = try await web.send(
                    .post, path, body: #"{"paths":[""]}"#, headers: headers)
                #expect(answer.status == 403, "\(headers)")
            }
            #expect(web.service.calls.isEmpty)
            let own = try await web.send(
                .post, path, body: #"{"paths":["a"]}"#,
                headers: [
                    "Origin": "http://127.0.0.1:\(web.port)", "Sec-Fetch-Site": "same-origin",
                ])
            #expect(own.status == 200)
            #expect(web.service.calls == [.evict(["a"])])
        }
    }

    @Test func `every answer confines the page, also a refusal`() async throws {
        try await WebFixture.run { web in
            for path in ["/", "/main.js", "/mounts", "/nothing"] {
                for hasToken in [true, false] {
                    let headers = try await web.send(.get, path, hasToken: hasToken).headers
                    let policy = headers["content-security-policy"] ?? ""
                    #expect(policy.hasPrefix("default-src 'none';"), "\(path)")
                    #expect(policy.contains("script-src 'self';"))
                    #expect(policy.contains("style-src 'self';"))
                    #expect(policy.contains("frame-ancestors 'none'"))
                    #expect(!policy.contains("unsafe") && !policy.contains("http"))
                    #expect(headers["x-content-type-options"] == "nosniff")
                    #expect(headers["cache-control"] == "no-store")
                    #expect(headers["access-control-allow-origin"] == nil)
                }
            }
        }
    }

    @Test func `the page refers to nothing elsewhere, and has no script of its own in it`() throws {
        for file in PageFile.all {
            let text = try #require(String(validating: file.bytes, as: UTF8.self))
            let rest = text.replacing("http://www.w3.org/2000/svg", with: "")
            #expect(!rest.contains("http://") && !rest.contains("https://"), "\(file.name)")
            #expect(!rest.contains("innerHTML") && !rest.contains("eval("), "\(file.name)")
            if file.name == "index.html" {
                #expect(!rest.contains("style=") && !rest.contains("onclick"))
                #expect(rest.ranges(of: "<script").count == 1)
            }
        }
    }
}
