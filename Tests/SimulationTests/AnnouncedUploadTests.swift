import Simulation
import Testing

@testable import Engine

/// Goal: an upload to a store that announces versions is recorded before its bytes are visible, and not
/// carried out if its file has vanished meanwhile.
@Suite("Uploads to a store that announces versions")
struct AnnouncedUploadTests {
    private static var settings: SimulatedMountSettings {
        var settings = SimulatedMountSettings()
        settings.provider.tellsVersionsAhead = true
        settings.provider.pieceBytes = 1...1
        settings.provider.pieceDelay = .milliseconds(100)...(.milliseconds(100))
        return settings
    }

    /// Writes ten bytes, which take a second, and waits until some are sent.
    private static func beginUpload(_ it: Scenario, of path: String) async throws {
        _ = try await it.names(in: "")
        let before = it.remote.bytesReceived
        try await it.write(path, Array(repeating: 1, count: 10))
        for _ in 0..<1_000 where it.remote.bytesReceived == before {
            try await it.wait(.milliseconds(10))
        }
        #expect(it.remotePaths.isEmpty && it.remote.bytesReceived > before)
    }

    private static func intents(_ it: Scenario) throws -> Int {
        try it.engine.store.read { try $0.value("SELECT COUNT(*) FROM intents", []) ?? 0 }
    }

    @Test func `are recorded once their version is known`() throws {
        try Scenario.run(settings: Self.settings) { it in
            try await Self.beginUpload(it, of: "a")
            #expect(try Self.intents(it) == 0, "nothing can be visible yet")
            #expect(try await it.rest())
            #expect(it.remoteBytes("a") == Array(repeating: 1, count: 10))
            #expect(try Self.intents(it) == 0)
        }
    }

    @Test func `send nothing of a file that is unlinked meanwhile`() throws {
        try Scenario.run(settings: Self.settings) { it in
            try await Self.beginUpload(it, of: "a")
            try await it.unlink("a")
            for _ in 0..<200 {
                try await it.wait(.milliseconds(10))
                #expect(it.remotePaths.isEmpty)
            }
            #expect(try await it.rest(within: .seconds(5)))
            #expect(it.remotePaths.isEmpty)
        }
    }

    @Test func `keep a file of another client that takes the name meanwhile`() throws {
        try Scenario.run(settings: Self.settings) { it in
            try await Self.beginUpload(it, of: "a")
            try it.remote.otherClientWrites(Scenario.key("a"), [7])
            try await it.refresh()
            #expect(try await it.rest())
            #expect(it.remotePaths.count == 2)
            #expect(it.remoteBytes("a") == [7])
            #expect(try await it.names(in: "") == it.remotePaths)
        }
    }
}
