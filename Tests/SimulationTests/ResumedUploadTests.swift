import Simulation
import Testing

@testable import Engine

@Suite("Interrupted uploads")
struct ResumedUploadTests {
    private static var settings: SimulatedMountSettings {
        var settings = SimulatedMountSettings()
        settings.provider.resumesUploads = true
        settings.provider.pieceBytes = 1_000...1_000
        settings.provider.pieceDelay = .milliseconds(100)...(.milliseconds(100))
        return settings
    }
    private static let bytes = [UInt8](repeating: 3, count: 50_000)

    @Test func `continue after a kill, and send nothing twice`() throws {
        try Scenario.run(settings: Self.settings) { it in
            _ = try await it.names(in: "")
            try await it.write("movie", Self.bytes)
            try await it.wait(.seconds(4))
            let received = it.remote.bytesReceived
            #expect((1_000..<50_000).contains(received))
            await it.mount.kill()
            try it.mount.start()
            #expect(try await it.rest())
            #expect(it.remoteBytes("movie") == Self.bytes)
            // A piece may have been on its way when the process died.
            #expect(it.remote.bytesReceived <= 51_000)
            #expect(it.remote.uploadCount == 0)
            #expect(it.mount.engine.bytesSent <= 50_000 - UInt64(received))
        }
    }

    @Test func `continue after a network failure`() throws {
        try Scenario.run(settings: Self.settings) { it in
            _ = try await it.names(in: "")
            try await it.write("movie", Self.bytes)
            try await it.wait(.seconds(4))
            it.remote.setReachable(false)
            try await it.wait(.seconds(30))
            it.remote.setReachable(true)
            #expect(try await it.rest())
            #expect(it.remoteBytes("movie") == Self.bytes)
            #expect(it.remote.bytesReceived <= 51_000)
            #expect(it.mount.engine.bytesSent == 50_000)
        }
    }

    @Test func `of an overwritten version are restarted, and freed at the store`() throws {
        try Scenario.run(settings: Self.settings) { it in
            _ = try await it.names(in: "")
            try await it.write("movie", Self.bytes)
            try await it.wait(.seconds(4))
            it.remote.setReachable(false)
            try await it.wait(.seconds(1))
            let other = [UInt8](repeating: 4, count: 20_000)
            try await it.write("movie", other)
            it.remote.setReachable(true)
            #expect(try await it.rest())
            #expect(it.remoteBytes("movie") == other)
            #expect(it.remote.uploadCount == 0)
        }
    }

    @Test func `of a file that was removed are freed at the store`() throws {
        try Scenario.run(settings: Self.settings) { it in
            _ = try await it.names(in: "")
            try await it.write("movie", Self.bytes)
            try await it.wait(.seconds(4))
            it.remote.setReachable(false)
            try await it.unlink("movie")
            it.remote.setReachable(true)
            #expect(try await it.rest())
            try await it.wait(.seconds(30))
            #expect(it.remote.uploadCount == 0)
            #expect(it.remotePaths == [])
        }
    }
}
