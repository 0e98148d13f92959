import Control
import Foundation
import Synchronization
import Testing
import Transport

@Suite(.timeLimit(.minutes(2)))
struct ControlTransportTests {
    private struct Enough: Error {}

    private struct RefusingSink: HTTPBodySink {
        func receive(_ bytes: UnsafeRawBufferPointer, of response: HTTPResponse) throws {
            throw Enough()
        }
    }

    @Test func `requests run side by side on one transport`() async throws {
        try await ServerFixture.run { server in
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<50 {
                    group.addTask { try await server.send(.get, "/v1/about").status }
                }
                for try await status in group { #expect(status == 200) }
            }
        }
    }

    @Test func `a sink that throws ends the transfer`() async throws {
        try await ServerFixture.run { server in
            let error = await #expect(throws: TransportError.self) {
                try await server.transport.send(
                    HTTPRequest(
                        .get, "http://apus/v1/about", unixSocketPath: server.socketPath),
                    into: RefusingSink())
            }
            #expect(error?.kind == .sink)
            #expect(error?.cause is Enough)
        }
    }

    @Test func `a transfer that takes too long ends`() async throws {
        let service = FakeMount()
        service.stayOpen()
        try await ServerFixture.run(service) { server in
            let error = await #expect(throws: TransportError.self) {
                try await server.transport.send(
                    HTTPRequest(
                        .post, "http://apus/v1/sync", unixSocketPath: server.socketPath,
                        timeout: .milliseconds(50)), into: CollectingSink())
            }
            #expect(error?.kind == .timedOut)
        }
    }

    @Test func `a task that is cancelled already sends nothing that stays`() async throws {
        try await ServerFixture.run { server in
            let sending = Task { [transport = server.transport, path = server.socketPath] in
                withUnsafeCurrentTask { $0?.cancel() }
                return try await transport.send(
                    HTTPRequest(.get, "http://apus/v1/about", unixSocketPath: path),
                    into: CollectingSink())
            }
            let error = await #expect(throws: TransportError.self) { try await sending.value }
            #expect(error?.kind == .cancelled)
        }
    }

    @Test func `a URL of another kind is invalid`() async throws {
        let error = await #expect(throws: TransportError.self) {
            try await HTTPTransport().send(
                HTTPRequest(.get, "file:///etc/hostname?secret"), into: CollectingSink())
        }
        #expect(error?.kind == .invalid)
        #expect(error?.attempt == "GET file:///etc/hostname")
    }

    @Test func `no socket is unreachable, with the system's error number`() async throws {
        let error = await #expect(throws: TransportError.self) {
            try await HTTPTransport().send(
                HTTPRequest(.get, "http://apus/", unixSocketPath: "/tmp/no-such.sock"),
                into: CollectingSink())
        }
        #expect(error?.kind == .unreachable)
        #expect(error?.errorNumber == ENOENT)
    }
}
