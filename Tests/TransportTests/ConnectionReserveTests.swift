import Foundation
import Synchronization
import TestServer
import Testing

@testable import Transport

/// Connections that stay open for later requests.
@Suite(.timeLimit(.minutes(2)))
struct ConnectionReserveTests {
    @Test func `as many are kept as were in use in this period or the one before`() {
        var reserve = ConnectionReserve(period: .seconds(2), now: .zero)
        #expect(reserve.note(active: 100, at: .zero) == 100)
        #expect(reserve.note(active: 40, at: .seconds(1)) == 100)
        #expect(reserve.note(active: 30, at: .seconds(2)) == 100)
        #expect(reserve.note(active: 1, at: .seconds(3)) == 100)
        #expect(reserve.note(active: 20, at: .seconds(4)) == 30)
        #expect(reserve.note(active: 0, at: .seconds(6)) == 20)
        #expect(reserve.note(active: 0, at: .seconds(8)) == ConnectionReserve.least)
    }

    @Test func `a pause ends a burst`() {
        var reserve = ConnectionReserve(period: .seconds(2), now: .zero)
        #expect(reserve.note(active: 100, at: .seconds(1)) == 100)
        #expect(reserve.note(active: 1, at: .seconds(60)) == ConnectionReserve.least)
    }

    /// Goal: requests on connections that a server accepts only once others have ended do not wait until it
    /// ends idle ones by itself.
    ///
    /// Method: a burst takes all places of the server, and more requests get connections meanwhile. Later ones
    /// find idle connections, as probes of a silent remote do.
    @Test func `a burst leaves places for others at a server with few`() async throws {
        let (places, others) = (20, 5)
        var options = TransportOptions()
        options.queriesPerHost = .init(start: 2 * places, max: 2 * places)
        options.burstTime = .milliseconds(100)
        let transport = HTTPTransport(options)
        let (arrivals, arrival) = AsyncStream<Void>.makeStream()
        let (starts, start) = AsyncStream<Void>.makeStream()
        let gate = DispatchSemaphore(value: 0)
        let answered = Atomic(0)
        try await ScriptedServer.run(connectionsMax: places) { request, connection in
            if request.target == "/burst" {
                arrival.yield()
                gate.wait()
            }
            try connection.answer("200 OK", [], [1])
        } _: { server in
            let sendOther: @Sendable () async throws -> Void = {
                let request = HTTPRequest(.get, server.url("/other")) { _, _ in start.yield() }
                _ = try await transport.send(request)
                answered.add(1, ordering: .relaxed)
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                let burst = (0..<places).map { _ in
                    Task { try await transport.send(HTTPRequest(.get, server.url("/burst"))) }
                }
                var arrived = arrivals.makeAsyncIterator()
                for _ in 0..<places { await arrived.next() }
                for _ in 0..<others { group.addTask(operation: sendOther) }
                var started = starts.makeAsyncIterator()
                for _ in 0..<others { await started.next() }
                for _ in 0..<places { gate.signal() }
                for answer in burst { _ = try await answer.value }
                let limit = ContinuousClock.now + .seconds(20)
                while answered.load(ordering: .relaxed) < others {
                    try #require(ContinuousClock.now < limit, "the idle connections stay open")
                    _ = try await transport.send(HTTPRequest(.get, server.url("/probe")))
                }
                try await group.waitForAll()
            }
        }
    }
}
