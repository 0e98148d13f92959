import Simulation
import Testing

@testable import Engine

/// Goal: an engine ends in time, even during a request that cannot be cancelled, and the result of
/// the request is known after the next start.
@Suite("Shutdown during a change that cannot be cancelled")
struct ShutdownGraceTests {
    private static var settings: SimulatedMountSettings {
        var settings = SimulatedMountSettings()
        settings.provider.finishesChanges = true
        return settings
    }

    enum Change: CaseIterable {
        case create, edit, rename, unlink
    }

    @Test(arguments: Change.allCases)
    func `abandons it after the grace period, and looks up its result later`(change: Change) throws
    {
        try Scenario.run(settings: Self.settings) { remote in
            try remote.otherClientWrites(Scenario.key("a"), [1, 2, 3])
        } _: { it in
            _ = try await it.names(in: "")
            it.remote.stand(true)
            let expected: [String: [UInt8]]
            switch change {
            case .create:
                try await it.write("b", [4])
                expected = ["a": [1, 2, 3], "b": [4]]
            case .edit:
                try await it.write("a", [4])
                expected = ["a": [4]]
            case .rename:
                try await it.rename("a", to: "b")
                expected = ["b": [1, 2, 3]]
            case .unlink:
                try await it.unlink("a")
                expected = [:]
            }
            try await it.wait(.seconds(5))
            #expect(try it.status().items.contains { $0.transfer != nil }, "it is under way")
            let grace = it.engine.configuration.shutdownGrace
            #expect(await it.mount.stop() == grace)
            it.remote.stand(false)
            if change == .rename || change == .unlink {
                #expect(it.remotePaths == expected.keys.sorted(), "it has happened after all")
            }
            try it.mount.start()
            #expect(try await it.rest())
            try await it.refresh()
            #expect(it.remotePaths == expected.keys.sorted())
            #expect(try await it.names(in: "") == it.remotePaths)
            for (path, bytes) in expected { #expect(it.remoteBytes(path) == bytes) }
        }
    }

    @Test func `waits no longer once it is answered`() throws {
        var settings = Self.settings
        settings.provider.latency = .seconds(3)...(.seconds(3))
        try Scenario.run(settings: settings) { it in
            _ = try await it.names(in: "")
            try await it.write("a", [1])
            try await it.wait(.seconds(3))
            #expect(try it.status().items.contains { $0.transfer != nil }, "it is under way")
            #expect(try #require(await it.mount.stop()) <= .seconds(3))
            #expect(it.remotePaths == ["a"])
            try it.mount.start()
            let inode = try await it.find("a")
            #expect(try it.engine.store.read { try $0.synced(inode) } != nil, "that was heard")
        }
    }
}
