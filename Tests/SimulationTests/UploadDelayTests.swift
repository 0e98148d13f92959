import Simulation
import Testing

@testable import Engine

/// Goal: a closed file waits for further changes, and a large one less long.
struct UploadDelayTests {
    /// Method: the remote answers at once, so that an upload that was due has ended.
    @Test(arguments: [(99, 400), (100, 50)])
    func `a file is uploaded after its settle time`(bytes: Int, tooEarly: Int) throws {
        var settings = SimulatedMountSettings()
        settings.provider.latency = .zero...(.zero)
        settings.engine.settleTime = .milliseconds(500)
        settings.engine.settleTimeOfLarge = .milliseconds(100)
        settings.engine.largeBytesMin = 100
        try Scenario.run(settings: settings) { it in
            try await it.write("file", [UInt8](repeating: 1, count: bytes))
            try await it.wait(.milliseconds(tooEarly))
            #expect(it.remotePaths.isEmpty)
            try await it.wait(.milliseconds(150))
            #expect(it.remoteBytes("file")?.count == bytes)
        }
    }

    @Test func `a file is a large one from 64 MiB on`() {
        let configuration = EngineConfiguration(
            source: "", owner: Caller(userID: 0, groupID: 0), hostName: "", controlSocket: "")
        #expect(configuration.settleTime(ofBytes: (64 << 20) - 1) == .milliseconds(500))
        #expect(configuration.settleTime(ofBytes: 64 << 20) == .milliseconds(100))
    }
}
