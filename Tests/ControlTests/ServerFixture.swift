import Control
import Foundation
import Logging
import Transport

/// A server on a socket in a directory of its own, with a client.
struct ServerFixture {
    let service: FakeMount
    let socketPath: String
    let client: ControlClient
    let transport: HTTPTransport

    /// Runs `body` while a server serves `service`.
    ///
    /// - Parameters:
    ///   - farewell: The time that streams have to end by themselves: much for a busy machine.
    ///   - prepare: Given the socket's path before the server starts.
    static func run(
        _ service: FakeMount = FakeMount(), farewell: Duration = .seconds(30),
        prepare: (String) throws -> Void = { _ in },
        _ body: (ServerFixture) async throws -> Void
    ) async throws {
        let directory = try TemporaryDirectory()
        let socketPath = directory.path + "/control.sock"
        try prepare(socketPath)
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        let server = ControlServer(
            service: service, socketPath: socketPath, logger: logger, farewell: farewell)
        let (listening, isListening) = AsyncStream<Void>.makeStream()
        let transport = HTTPTransport()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                defer { isListening.finish() }
                try await server.run { isListening.finish() }
            }
            for await _ in listening {}
            let client = ControlClient(socketPath: socketPath, transport: transport)
            try await body(
                ServerFixture(
                    service: service, socketPath: socketPath, client: client,
                    transport: transport))
            group.cancelAll()
            try await group.waitForAll()
        }
    }

    /// A request as any program may send it.
    func send(
        _ method: HTTPRequest.Method, _ path: String, body: String = ""
    ) async throws -> (status: Int, body: String) {
        let sink = CollectingSink()
        let response = try await transport.send(
            HTTPRequest(
                method, "http://apus\(path)", body: body.isEmpty ? .none : .bytes(Array(body.utf8)),
                unixSocketPath: socketPath),
            into: sink)
        return (response.status, sink.text)
    }
}

/// A directory that goes with its last reference, with a path short enough for sockets.
final class TemporaryDirectory: Sendable {
    let path: String

    init() throws {
        path = "/tmp/apus-test-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o755])
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }
}
