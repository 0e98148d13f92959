import Simulation
import Testing

@testable import Engine

/// Goal: the status tells what goes on, as it is at that moment.
struct StatusTests {
    @Test func `a file that is fetched is told with how much of it is here`() throws {
        var settings = SimulatedMountSettings()
        settings.provider.pieceBytes = (1 << 20)...(1 << 20)
        settings.provider.pieceDelay = .seconds(1)...(.seconds(1))
        try Scenario.run(settings: settings) { remote in
            try remote.otherClientWrites(
                Scenario.key("film"), [UInt8](repeating: 7, count: 3 << 20))
        } _: { it in
            let film = try await it.find("film")
            #expect(try it.status().downloading == 0)
            try await it.engine.completing { () throws(Halt) in
                try it.engine.open(film, access: .read, truncating: false)
            }
            // The first byte comes with the first piece; the rest follows by itself.
            _ = try await it.engine.completing { () throws(Halt) in
                try it.engine.read(film, at: 0, length: 1)
            }
            let status = try it.status()
            #expect(status.downloading == 1)
            #expect(status.localBytes == 1 << 20)
            let download = try #require(status.downloads.first)
            #expect(download.path == "film")
            #expect(download.state == .partial)
            #expect(download.bytesHere == 1 << 20)
            #expect(download.size == 3 << 20)

            var rings = it.engine.changeCount
            while try it.status().downloading > 0 {
                await it.engine.waitForChange(after: rings)
                rings = it.engine.changeCount
            }
            #expect(try it.status().downloads.isEmpty)
            #expect(try it.status().localBytes == 3 << 20)
            it.engine.release(film, access: .read)
            #expect(try it.status().localBytes == 3 << 20)
        }
    }
}
