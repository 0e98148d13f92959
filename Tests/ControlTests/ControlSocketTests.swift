import Control
import Foundation
import Logging
import Testing
import Transport

@Suite(.timeLimit(.minutes(2)))
struct ControlSocketTests {
    @Test func `only its owner may touch the socket`() async throws {
        try await ServerFixture.run { server in
            var status = stat()
            #expect(stat(server.socketPath, &status) == 0)
            #expect(status.st_mode & 0o7777 == 0o600)
            #expect(status.st_mode & S_IFMT == S_IFSOCK)
        }
    }

    @Test func `the socket goes with its server`() async throws {
        var path = ""
        try await ServerFixture.run { path = $0.socketPath }
        #expect(access(path, F_OK) != 0)
    }

    @Test func `the socket of a dead daemon is replaced`() async throws {
        try await ServerFixture.run { path in
            try leaveStaleSocket(at: path)
        } _: { server in
            let about = try await server.client.about()
            #expect(about == Sample.about)
        }
    }

    @Test func `a file that is no socket is left alone`() async throws {
        let error = await #expect(throws: ControlError.self) {
            try await ServerFixture.run { path in
                try Data("mine".utf8).write(to: URL(filePath: path))
            } _: { _ in
            }
        }
        #expect(error?.kind == .failed)
    }

    @Test func `a path too long for a socket is refused with a remedy`() async throws {
        let path = Self.path(bytes: SocketPath.bytesMax + 1)
        let error = await #expect(throws: ControlError.self) { try await Self.server(path).run {} }
        #expect(error?.problem.remedy == "give a shorter --state-dir")
    }

    @Test func `the longest path for a socket is served`() async throws {
        let path = Self.path(bytes: SocketPath.bytesMax)
        let (readiness, ready) = AsyncStream<Void>.makeStream()
        let serving = Task {
            defer { ready.finish() }
            try await Self.server(path).run { ready.yield() }
        }
        for await _ in readiness {
            #expect(FileManager.default.fileExists(atPath: path))
            break
        }
        serving.cancel()
        try await serving.value
        #expect(!FileManager.default.fileExists(atPath: path))
    }

    private static func path(bytes: Int) -> String {
        let start = "/tmp/apus-\(UUID())-"
        return start + String(repeating: "x", count: bytes - start.utf8.count)
    }

    private static func server(_ path: String) -> ControlServer {
        ControlServer(service: FakeMount(), socketPath: path, logger: Logger(label: "test"))
    }

    @Test(.enabled(if: geteuid() == 0 && canRun("setpriv") && canRun("curl")))
    func `another user is hung up on, even where the file's mode lets him in`() async throws {
        try await ServerFixture.run { server in
            #expect(chmod(server.socketPath, 0o666) == 0)
            let curl = ["curl", "-sS", "--unix-socket", server.socketPath, "http://apus/v1/status"]
            let asRoot = try await Program.run(curl)
            #expect(asRoot.status == 0)
            let nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
            let reach = try await Program.run(nobody + ["test", "-w", server.socketPath])
            #expect(reach.status == 0, "nobody could connect, as far as files go")
            let asNobody = try await Program.run(nobody + curl)
            #expect(asNobody.status != 0)
            #expect(asNobody.output == "")
            #expect(server.service.calls == [.status([""], limit: 1_000)])
            // The refusal was that connection's alone.
            let about = try await server.client.about()
            #expect(about == Sample.about)
        }
    }

    @Test func `nobody there is an error that says what to do`() async throws {
        let directory = try TemporaryDirectory()
        let client = ControlClient(
            socketPath: directory.path + "/control.sock", transport: HTTPTransport())
        let error = await #expect(throws: ControlError.self) { try await client.about() }
        #expect(error?.kind == .unreachable)
        #expect(error?.problem.why == "no daemon listens there")
    }
}

private func leaveStaleSocket(at path: String) throws {
    let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
    let bound = withUnsafeBytes(of: &address) { bytes in
        bytes.withMemoryRebound(to: sockaddr.self) {
            bind(descriptor, $0.baseAddress, socklen_t(MemoryLayout<sockaddr_un>.size))
        }
    }
    try #require(bound == 0)
}
