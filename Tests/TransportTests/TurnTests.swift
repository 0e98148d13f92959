import Foundation
import Synchronization
import TestBytes
import TestServer
import Testing
import Transport

@Suite("Requests that wait for their turn", .timeLimit(.minutes(2)))
struct TurnTests {
    private let transport = HTTPTransport()

    @Test func `a connection is reused`() async throws {
        try await ScriptedServer.run { _, connection in
            try connection.answer("200 OK", [], [1])
        } _: { server in
            for _ in 0..<10 { _ = try await transport.send(HTTPRequest(.get, server.url("/"))) }
            #expect(server.connectionCount == 1)
        }
    }

    /// Method: the transport looks at all sockets once a second, so a pause of more than that is followed by
    /// such a look. An answer that only the next one notices takes a second, each time; a busy machine
    /// delays some.
    @Test func `an answer after a pause is noticed at once`() async throws {
        try await ScriptedServer.run { _, connection in
            try connection.answer("200 OK", [], [1])
        } _: { server in
            let request = HTTPRequest(.get, server.url("/"))
            _ = try await transport.send(request)
            var shortest = Duration.seconds(60)
            for _ in 0..<4 {
                try await Task.sleep(for: .milliseconds(1_100))
                let start = ContinuousClock.now
                _ = try await transport.send(request)
                shortest = min(shortest, .now - start)
            }
            #expect(shortest < .milliseconds(500))
            #expect(server.connectionCount == 1)
        }
    }

    @Test func `a request with a fresh connection takes no idle one`() async throws {
        try await ScriptedServer.run { _, connection in
            try connection.answer("200 OK", [], [1])
        } _: { server in
            var request = HTTPRequest(.get, server.url("/"))
            _ = try await transport.send(request)
            request.usesFreshConnection = true
            _ = try await transport.send(request)
            #expect(server.connectionCount == 2)
        }
    }

    /// Method: two idle connections, of which libcurl would take the older first. It counts their age in
    /// seconds.
    @Test func `no request takes a connection that was idle before a fresh one`() async throws {
        let pair = Rounds(of: 2)
        try await ScriptedServer.run { request, connection in
            if request.target == "/pair" { pair.wait() }
            try connection.answer("200 OK", [], [1])
        } _: { server in
            let paired = HTTPRequest(.get, server.url("/pair"))
            async let first = transport.send(paired)
            async let second = transport.send(paired)
            _ = try await (first, second)
            #expect(server.connectionCount == 2)
            try await Task.sleep(for: .milliseconds(3_100))
            var fresh = HTTPRequest(.get, server.url("/"))
            fresh.usesFreshConnection = true
            _ = try await transport.send(fresh)
            for _ in 0..<3 { _ = try await transport.send(HTTPRequest(.get, server.url("/"))) }
            #expect(server.connectionCount == 3)
            async let third = transport.send(paired)
            async let fourth = transport.send(paired)
            _ = try await (third, fourth)
            #expect(server.connectionCount == 4, "only the fresh one is used again")
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func `the limit is the number of concurrent requests, and all of them run`()
        async throws
    {
        let running = Mutex((now: 0, most: 0))
        let trios = Rounds(of: 3)
        var options = TransportOptions()
        options.requestsPerHost = .init(start: 3, max: 3)
        options.queriesPerHost = nil
        let transport = HTTPTransport(options)
        try await ScriptedServer.run { _, connection in
            running.withLock { running in
                running.now += 1
                running.most = max(running.most, running.now)
            }
            trios.wait()
            running.withLock { $0.now -= 1 }
            try connection.answer("200 OK")
        } _: { server in
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<60 {
                    group.addTask {
                        try await transport.send(HTTPRequest(.get, server.url("/"))).response.status
                    }
                }
                for try await status in group { #expect(status == 200) }
            }
            #expect(server.requests.count == 60)
            // One more at a time would need a connection of its own.
            #expect(server.connectionCount == 3)
        }
        #expect(running.withLock { $0.most } == 3)
    }

    /// Method: the limit is one, as after refusals, and the first request is never answered.
    @Test(.timeLimit(.minutes(2)))
    func `a request that is never answered delays no other`() async throws {
        var options = TransportOptions()
        options.requestsPerHost = .init(start: 1, max: 8)
        options.queriesPerHost = nil
        let transport = HTTPTransport(options)
        let (arrived, hasArrived) = AsyncStream<Void>.makeStream()
        try await ScriptedServer.run { request, connection in
            guard request.target == "/first" else {
                return try connection.answer("204 No Content")
            }
            hasArrived.yield()
            connection.awaitHangUp()
            throw POSIXError(.ECONNRESET)
        } _: { server in
            let first = Task {
                try await transport.send(
                    HTTPRequest(.get, server.url("/first"), stallTimeout: .seconds(600)))
            }
            for await _ in arrived { break }
            let second = try await transport.send(HTTPRequest(.get, server.url("/second")))
            #expect(second.response.status == 204)
            first.cancel()
            _ = await first.result
        }
    }

    @Test func `the time limit includes the time in the queue`() async throws {
        var options = TransportOptions()
        options.requestsPerHost = .init(start: 1, max: 1)
        options.queriesPerHost = nil
        let transport = HTTPTransport(options)
        let (arrived, hasArrived) = AsyncStream<Void>.makeStream()
        try await ScriptedServer.run { _, connection in
            hasArrived.yield()
            _ = connection.readSome(atMost: 1)
            throw POSIXError(.ECONNRESET)
        } _: { server in
            let first = Task { try await transport.send(HTTPRequest(.get, server.url("/first"))) }
            for await _ in arrived { break }
            let error = await #expect(throws: TransportError.self) {
                try await transport.send(
                    HTTPRequest(.get, server.url("/second"), timeout: .milliseconds(30)))
            }
            #expect(error?.kind == .timedOut)
            first.cancel()
            _ = await first.result
            #expect(server.requests.map(\.target) == ["/first"])
        }
    }

    /// Method: the limit is one, and an upload occupies that place. The time limit of the other
    /// requests ends before the upload counts as slow.
    @Test(.timeLimit(.minutes(2)))
    func `a long upload delays no metadata request and no read`() async throws {
        var options = TransportOptions()
        options.requestsPerHost = .init(start: 1, max: 8)
        options.queriesPerHost = nil
        let transport = HTTPTransport(options)
        let (arrived, hasArrived) = AsyncStream<Void>.makeStream()
        let goOn = DispatchSemaphore(value: 0)
        try await ScriptedServer.run { request, connection in
            guard request.method == "PUT" else { return try connection.answer("200 OK", [], [1]) }
            hasArrived.yield()
            goOn.wait()
            _ = try connection.read(request.bodyBytes)
            try connection.answer("201 Created")
        } _: { server in
            let upload = Task {
                try await transport.send(
                    HTTPRequest(
                        .put, server.url("/long"),
                        body: .source(
                            ArraySource(TestBytes.random(1_000_000)), range: 0..<1_000_000)))
            }
            for await _ in arrived { break }
            defer { goOn.signal() }
            for answerBytes: UInt64 in [0, 1, 4 << 20] {
                var request = HTTPRequest(.get, server.url("/short"), timeout: .seconds(4))
                request.answerBytes = answerBytes
                let answer = try await transport.send(request)
                #expect(answer.body == [1])
            }
            goOn.signal()
            let response = try await upload.value.response
            #expect(response.status == 201)
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `a waiting request is told so every few seconds`() async throws {
        var options = TransportOptions()
        options.requestsPerHost = .init(start: 1, max: 1)
        options.queriesPerHost = nil
        let transport = HTTPTransport(options)
        let (arrived, hasArrived) = AsyncStream<Void>.makeStream()
        let (told, isTold) = AsyncStream<Void>.makeStream()
        let goOn = DispatchSemaphore(value: 0)
        try await ScriptedServer.run { request, connection in
            if request.target == "/first" {
                hasArrived.yield()
                goOn.wait()
            }
            try connection.answer("204 No Content")
        } _: { server in
            let first = Task { try await transport.send(HTTPRequest(.get, server.url("/first"))) }
            for await _ in arrived { break }
            let second = Task {
                let request = HTTPRequest(
                    .get, server.url("/second"),
                    onProgress: { sent, received in
                        #expect(sent == 0 && received == 0)
                        isTold.yield()
                    })
                return try await transport.send(request)
            }
            for await _ in told { break }
            #expect(server.requests.map(\.target) == ["/first"])
            goOn.signal()
            let answers = try await [first.value, second.value]
            #expect(answers.map(\.response.status) == [204, 204])
        }
    }

    @Test func `cancelling a waiting request has no effect on others`() async throws {
        var options = TransportOptions()
        options.requestsPerHost = .init(start: 1, max: 1)
        options.queriesPerHost = nil
        let transport = HTTPTransport(options)
        let (arrived, hasArrived) = AsyncStream<Void>.makeStream()
        let goOn = DispatchSemaphore(value: 0)
        try await ScriptedServer.run { _, connection in
            hasArrived.yield()
            goOn.wait()
            try connection.answer("200 OK")
        } _: { server in
            let first = Task { try await transport.send(HTTPRequest(.get, server.url("/first"))) }
            for await _ in arrived { break }
            let second = Task { try await transport.send(HTTPRequest(.get, server.url("/second"))) }
            second.cancel()
            let error = await #expect(throws: TransportError.self) { try await second.value }
            #expect(error?.kind == .cancelled)
            let third = Task { try await transport.send(HTTPRequest(.get, server.url("/third"))) }
            goOn.signal()
            goOn.signal()
            let answers = try await [first.value, third.value]
            #expect(answers.map(\.response.status) == [200, 200])
            #expect(server.requests.map(\.target) == ["/first", "/third"])
        }
    }
}
