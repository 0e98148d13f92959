import Simulation
import Testing

@testable import Engine

/// Goal: an orderly unmount loses nothing, even if the power is cut before the next mount (I6).
@Suite("An orderly unmount")
struct UnmountTests {
    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `is followed by a power cut`(seed: UInt64) throws {
        var settings = SimulatedMountSettings()
        settings.keepsDatabaseOnDisk = true
        try Scenario.run(seed: seed, settings: settings) { it in
            _ = try await it.names(in: "")
            try await it.write("a", [1, 2, 3])
            #expect(try await it.rest())
            it.remote.setReachable(false)
            // Names only: there are no bytes to be synced.
            try await it.rename("a", to: "b")
            #expect(await it.mount.stop() != nil)
            await it.mount.cutPower()
            try it.mount.start()
            #expect(try await it.names(in: "") == ["b"])
            it.remote.setReachable(true)
            #expect(try await it.rest())
            #expect(it.remotePaths == ["b"])
            #expect(it.remoteBytes("b") == [1, 2, 3])
        }
    }
}
