import Foundation
import Logging
import Transport

@testable import Control

/// The page's server beside the control server of one mount.
struct WebFixture {
    let service: FakeMount
    let token: PageToken
    let port: Int
    /// The name of the mount in URLs.
    let id: String
    private let transport: HTTPTransport

    /// Runs `body` while both serve.
    ///
    /// - Parameter mountPoint: The folder whose files are shown.
    static func run(
        _ service: FakeMount = FakeMount(), mountPoint: String = "/mnt/cloud",
        _ body: (WebFixture) async throws -> Void
    ) async throws {
        try await ServerFixture.run(service, farewell: .zero) { daemon in
            let mount = WebMount(mountPoint: mountPoint, socketPath: daemon.socketPath)
            let token = PageToken()
            var logger = Logger(label: "test")
            logger.logLevel = .critical
            let server = WebServer(
                port: 0, token: token, transport: daemon.transport,
                logger: logger, mounts: { [mount] })
            let (urls, isListening) = AsyncStream<String>.makeStream()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    defer { isListening.finish() }
                    try await server.run { isListening.yield($0) }
                }
                if let url = await urls.first(where: { _ in true }),
                    let port = URL(string: url)?.port
                {
                    try await body(
                        WebFixture(
                            service: service, token: token, port: port, id: mount.id,
                            transport: daemon.transport))
                    group.cancelAll()
                }
                try await group.waitForAll()
            }
        }
    }

    struct Answer {
        let status: Int
        let headers: HTTPHeaders
        let body: String
    }

    /// Sends a request as the page does, with other headers instead or besides.
    func send(
        _ method: HTTPRequest.Method, _ path: String, body: String = "",
        hasToken: Bool = true, headers: [String: String] = [:]
    ) async throws -> Answer {
        let sink = CollectingSink()
        var all = headers.map { (name: $0.key, value: $0.value) }
        if hasToken { all.append((name: "Authorization", value: "Bearer \(token.text)")) }
        let response = try await transport.send(
            HTTPRequest(
                method, "http://127.0.0.1:\(port)\(path)", headers: all,
                body: body.isEmpty ? .none : .bytes(Array(body.utf8))),
            into: sink)
        return Answer(status: response.status, headers: response.headers, body: sink.text)
    }
}
