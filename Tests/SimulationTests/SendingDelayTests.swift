import Simulation
import Testing

@testable import Engine

/// Goal: the delays of docs/semantics.md before a change is sent.
@Suite("Before a change is sent") struct SendingDelayTests {
    private static func run(_ body: @escaping @Sendable (Scenario) async throws -> Void) throws {
        var settings = SimulatedMountSettings()
        settings.provider.latency = .zero...(.milliseconds(1))
        try Scenario.run(settings: settings, body)
    }

    @Test func `a written file waits for half a second after its last close`() throws {
        try Self.run { it in
            #expect(try await it.names(in: "") == [])
            try await it.write("a", [1])
            try await it.wait(.milliseconds(450))
            #expect(it.remoteBytes("a") == nil)
            try await it.wait(.milliseconds(200))
            #expect(it.remoteBytes("a") == [1])
        }
    }

    @Test func `a deletion waits for two seconds`() throws {
        try Self.run { it in
            try await it.write("a", [1])
            #expect(try await it.rest())
            try await it.unlink("a")
            try await it.wait(.milliseconds(1_900))
            #expect(it.remoteBytes("a") == [1])
            try await it.wait(.milliseconds(400))
            #expect(it.remoteBytes("a") == nil)
        }
    }

    /// Method: a slow deletion of all files, so that some would be sent before the others are deleted.
    @Test func `a tree whose deletion takes three seconds is held as a whole`() throws {
        try Self.run { it in
            for number in 0..<300 { try await it.write("f\(number)", [1]) }
            #expect(try await it.rest())
            for number in 0..<300 {
                try await it.unlink("f\(number)")
                try await it.wait(.milliseconds(10))
            }
            try await it.wait(.seconds(10))
            #expect(it.remotePaths.count == 300)
        }
    }
}
