import Simulation
import Testing

@testable import Engine

/// A remote that was out of reach for so long that it is probed seldom.
@Suite("A long outage") struct LongOutageTests {
    private static func withLongOutage(
        _ body: @escaping @Sendable (Scenario) async throws -> Void
    ) throws {
        try Scenario.run { it in
            try await it.write("a", [1])
            #expect(try await it.rest())
            it.remote.setReachable(false)
            try await it.write("b", [2])
            try await it.wait(.seconds(3_600))
            it.remote.setReachable(true)
            try await body(it)
        }
    }

    @Test func `ends by itself`() throws {
        try Self.withLongOutage { it in
            try await it.wait(.seconds(5))
            #expect(it.engine.outage == nil)
            #expect(try await it.rest(within: .seconds(5)))
            #expect(it.remotePaths == ["a", "b"])
        }
    }

    @Test func `ends at once when the network changes, or for a command`() throws {
        try Self.withLongOutage { it in
            it.engine.refreshes.noteNetworkChange()
            try await it.wait(.milliseconds(600))
            #expect(it.engine.outage == nil)
        }
        try Self.withLongOutage { it in
            await it.engine.refreshes.probe()
            #expect(it.engine.outage == nil)
        }
    }
}
