import Simulation
import Testing

@testable import Engine

/// Goal: changes of more than a few seconds ago survive, although nothing else needs them on the disk.
///
/// Method: the remote refuses the credentials, so that no request is about to be recorded.
@Suite("A power cut while nothing is sent")
struct PowerCutWhilePausedTests {
    private static func run(
        seed: UInt64, _ body: @escaping @Sendable (Scenario) async throws -> Void
    ) throws {
        var settings = SimulatedMountSettings()
        settings.keepsDatabaseOnDisk = true
        try Scenario.run(seed: seed, settings: settings) { remote in
            try remote.otherClientWrites(Scenario.key("edited"), [1])
            try remote.otherClientWrites(Scenario.key("moved"), [2])
            try remote.otherClientWrites(Scenario.key("removed"), [3])
        } _: { it in
            _ = try await it.names(in: "")
            #expect(try await it.read("edited") == [1])
            it.remote.refuse(.unauthorized)
            try await it.write("early", [0])
            try await it.wait(.seconds(60))
            #expect(try it.status().reachability.isUnauthorized)
            try await body(it)
        }
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `edits of ten seconds ago survive`(seed: UInt64) throws {
        try Self.run(seed: seed) { it in
            try await it.write("edited", [9, 9])
            try await it.write("new", [8])
            try await it.wait(.seconds(10))
            await it.mount.cutPower()
            try it.mount.start()
            #expect(try await it.read("edited") == [9, 9])
            #expect(try await it.read("new") == [8])
        }
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `names of ten seconds ago survive`(seed: UInt64) throws {
        try Self.run(seed: seed) { it in
            try await it.makeDirectory("directory")
            try await it.rename("moved", to: "directory/moved")
            try await it.unlink("removed")
            try await it.wait(.seconds(10))
            await it.mount.cutPower()
            try it.mount.start()
            #expect(try await it.names(in: "") == ["directory", "early", "edited"])
            #expect(try await it.names(in: "directory") == ["moved"])
        }
    }

    /// Method: more files than are synchronised one by one.
    @Test(arguments: [1, 300])
    func `all edits before the end of a mount survive`(count: Int) throws {
        try Self.run(seed: 1) { it in
            for number in 0..<count { try await it.write("new \(number)", [8]) }
            await it.mount.stop()
            await it.mount.cutPower()
            try it.mount.start()
            for number in 0..<count { #expect(try await it.read("new \(number)") == [8]) }
        }
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `names before the end of a mount survive`(seed: UInt64) throws {
        try Self.run(seed: seed) { it in
            try await it.rename("moved", to: "renamed")
            await it.mount.stop()
            await it.mount.cutPower()
            try it.mount.start()
            #expect(try await it.names(in: "") == ["early", "edited", "removed", "renamed"])
        }
    }
}

/// Goal: the result of a request before the power cut is recognised as ours afterwards.
///
/// Method: the database may lose any unsynced data, depending on the seed.
@Suite("A power cut right after a request")
struct PowerCutRequestTests {
    private static var settings: SimulatedMountSettings {
        var settings = SimulatedMountSettings()
        settings.keepsDatabaseOnDisk = true
        return settings
    }

    /// As a program does that has it open.
    private static func synchronize(_ path: String, _ it: Scenario) async throws {
        let inode = try await it.find(path)
        try await it.open(inode)
        defer { it.engine.release(inode, access: .write) }
        try it.engine.synchronize(inode)
    }

    /// Waits until the remote has something, and cuts the power then.
    private static func cut(
        _ it: Scenario, once isThere: (_ remotePaths: [String]) -> Bool
    ) async throws {
        for _ in 0..<10_000 {
            if isThere(it.remotePaths) { return await it.mount.cutPower() }
            try await it.wait(.milliseconds(1))
        }
        Issue.record("it never came")
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `no temporary name stays`(seed: UInt64) throws {
        try Scenario.run(seed: seed, settings: Self.settings) { remote in
            try remote.otherClientWrites(Scenario.key("a"), [1])
            try remote.otherClientWrites(Scenario.key("b"), [2])
        } _: { it in
            _ = try await it.names(in: "")
            try await it.write("other", [3])
            try await Self.synchronize("other", it)
            try await it.rename("a", to: "c")
            try await it.rename("b", to: "a")
            try await it.rename("c", to: "b")
            try await Self.cut(it) { $0.contains { $0.hasPrefix("apus-moving-") } }
            try it.mount.start()
            #expect(try await it.rest())
            try await it.refresh()
            #expect(it.remotePaths == ["a", "b", "other"])
            #expect(try await it.names(in: "") == it.remotePaths)
            #expect(it.remoteBytes("a") == [2])
            #expect(it.remoteBytes("b") == [1])
        }
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `an upload does not conflict with the next write`(seed: UInt64) throws {
        try Scenario.run(seed: seed, settings: Self.settings) { it in
            _ = try await it.names(in: "")
            try await it.write("a", [1, 2, 3])
            try await Self.synchronize("a", it)
            try await Self.cut(it) { $0.contains("a") }
            it.remote.setReachable(false)
            try it.mount.start()
            try await it.write("a", [9])
            it.remote.setReachable(true)
            #expect(try await it.rest())
            #expect(it.remotePaths == ["a"])
            #expect(it.remoteBytes("a") == [9])
        }
    }

    /// Method: the process dies right after an eviction, before that is on the disk. The next one
    /// fetches the first bytes again, and makes the file as long as it was.
    @Test(arguments: 1...30 as ClosedRange<UInt64>)
    func `an evicted file does not come back with bytes that were never fetched`(
        seed: UInt64
    ) throws {
        let bytes = [UInt8](repeating: 7, count: 3 << 20)
        try Scenario.run(seed: seed, settings: Self.settings) { remote in
            try remote.otherClientWrites(Scenario.key("file"), bytes)
        } _: { it in
            #expect(try await it.read("file") == bytes)
            // Long enough for it to be synced.
            try await it.wait(.seconds(20))
            let inode = try await it.find("file")
            #expect(try it.engine.evict(inode).files == 1)
            await it.mount.kill()
            try it.mount.start()
            try await it.engine.retrying { () throws(Blocked) in
                try it.engine.open(inode, access: .read, truncating: false)
            }
            try await it.wait(.milliseconds(Int(seed) * 50))
            await it.mount.cutPower()
            try it.mount.start()
            #expect(try await it.read("file") == bytes)
        }
    }

    /// Method: the answer to an upload is lost. Then the file is replaced by another, whose content
    /// does not survive the power cut.
    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `an uploaded version is not replaced by its first bytes`(seed: UInt64) throws {
        let old = [UInt8](repeating: 1, count: 100)
        let (new, draft) = ([UInt8](repeating: 2, count: 300), [UInt8](repeating: 3, count: 200))
        try Scenario.run(seed: seed, settings: Self.settings) { remote in
            try remote.otherClientWrites(Scenario.key("file"), old)
        } _: { it in
            _ = try await it.names(in: "")
            it.remote.setFaults(SimulatedProviderFaults(.unreachableAfter, 1))
            try await it.write("file", new)
            while it.remoteBytes("file") != new { try await it.wait(.milliseconds(1)) }
            it.remote.setReachable(false)
            try await it.write("draft", draft)
            try await it.rename("draft", to: "file")
            // It makes the database durable, but not the content of the draft.
            try await it.write("other", [4])
            try await Self.synchronize("other", it)
            await it.mount.cutPower()
            it.remote.setFaults(SimulatedProviderFaults())
            it.remote.setReachable(true)
            try it.mount.start()
            #expect(try await it.rest())
            try await it.refresh()
            let left = try #require(it.remoteBytes("file"))
            #expect(left == new || left == draft, "\(left.count) bytes of \(Set(left))")
            #expect(try await it.read("file") == left)
        }
    }
}
