import Synchronization
import TestServer
import Testing
import Transport

/// A used connection may turn out to be closed by the server.
@Suite("Requests that are sent again", .timeLimit(.minutes(2)))
struct RepetitionTests {
    private let transport = HTTPTransport()

    /// Method: the server takes the second request on a connection, and closes that instead of answering.
    @Test(arguments: [true, false])
    func `a body is sent again on another connection only if it may be`(mayRepeat: Bool)
        async throws
    {
        let puts = Atomic(0)
        try await ScriptedServer.run { request, connection in
            _ = try connection.read(request.bodyBytes)
            let number = puts.add(1, ordering: .relaxed).newValue
            guard number != 2 else { return connection.hangUp() }
            try connection.answer("200 OK")
        } _: { server in
            var request = HTTPRequest(.put, server.url("/"), body: .bytes([1, 2, 3]))
            request.mayRepeatBody = mayRepeat
            _ = try await transport.send(request)
            if mayRepeat {
                #expect(try await transport.send(request).response.status == 200)
            } else {
                let error = await #expect(throws: TransportError.self) {
                    _ = try await transport.send(request)
                }
                #expect(error?.kind == .interrupted)
            }
            #expect(puts.load(ordering: .relaxed) == (mayRepeat ? 3 : 2))
        }
    }

    /// Goal: a server that was restarted makes no request fail that may be sent again.
    ///
    /// Method: more used connections than libcurl tries, each reset by its second request.
    @Test(arguments: [HTTPMethod.get, .put])
    func `a request that finds all used connections dead is sent on a new one`(method: HTTPMethod)
        async throws
    {
        let connections = 8
        let all = Rounds(of: connections)
        let used = Mutex<Set<ObjectIdentifier>>([])
        try await ScriptedServer.run { request, connection in
            if request.target == "/first" {
                _ = used.withLock { $0.insert(ObjectIdentifier(connection)) }
                all.wait()
            } else if used.withLock({ $0.contains(ObjectIdentifier(connection)) }) {
                return connection.reset()
            }
            _ = try connection.read(request.bodyBytes)
            try connection.answer("200 OK", [], [1])
        } _: { server in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<connections {
                    group.addTask {
                        _ = try await transport.send(HTTPRequest(.get, server.url("/first")))
                    }
                }
                try await group.waitForAll()
            }
            let body = method == .put ? HTTPBody.bytes([1, 2, 3]) : .none
            let answer = try await transport.send(
                HTTPRequest(method, server.url("/second"), body: body))
            #expect(answer.response.status == 200)
            #expect(server.connectionCount == connections + 1)
        }
    }

    /// Method: the server begins to answer the second request on a connection, and resets that.
    @Test func `a request whose answer has begun is not sent again`() async throws {
        let puts = Atomic(0)
        try await ScriptedServer.run { request, connection in
            _ = try connection.read(request.bodyBytes)
            let number = puts.add(1, ordering: .relaxed).newValue
            guard number != 2 else {
                try connection.write("HTTP/1.1 100 Continue\r\n\r\n")
                return connection.reset()
            }
            try connection.answer("200 OK")
        } _: { server in
            let request = HTTPRequest(.put, server.url("/"), body: .bytes([1, 2, 3]))
            _ = try await transport.send(request)
            let error = await #expect(throws: TransportError.self) {
                _ = try await transport.send(request)
            }
            #expect(error?.kind == .interrupted)
            #expect(puts.load(ordering: .relaxed) == 2)
        }
    }
}
