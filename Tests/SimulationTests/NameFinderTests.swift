import Simulation
import TestBytes
import Testing

@testable import Engine

/// A directory whose listing takes minutes, and programs that look for single names.
@Suite("A lookup in a directory that was never listed")
struct NameFinderTests {
    private static let latency: Duration = .seconds(1)
    private static let count = 100

    private static func run(
        listsMetadata: Bool = true, _ body: @escaping @Sendable (Scenario) async throws -> Void
    ) throws {
        var settings = SimulatedMountSettings()
        settings.provider.latency = latency...latency
        settings.provider.pageEntries = 1
        settings.provider.listsMetadata = listsMetadata
        // A deletion is not sent while the question is asked.
        settings.engine.settleTime = .seconds(5)
        try Scenario.run(settings: settings) { remote in
            for number in 0..<count {
                try remote.otherClientWrites(
                    Scenario.key("file \(1_000 + number)"), [1], mode: 0o600)
            }
        } _: { scenario in
            try await body(scenario)
        }
    }

    private static let last = "file \(1_000 + count - 1)"

    /// Goal: the inode found ahead is the one that the listing finds, with all its metadata.
    @Test(arguments: [true, false])
    func `does not wait for the listing`(listsMetadata: Bool) throws {
        try Self.run(listsMetadata: listsMetadata) { it in
            let begin = it.mount.clock.uptime
            let root = try it.engine.attributes(of: .root)
            let found = try await it.look(at: Self.last)
            #expect(it.mount.clock.uptime - begin < Self.latency * 3)
            #expect(found.mode == 0o600)
            #expect(!found.isProvisional)
            #expect(try it.engine.attributes(of: .root) == root)
            #expect(try it.engine.store.read { try $0.existingInode(.root).isListed } == false)
            let names = try await it.names(in: "")
            #expect(names.count == Self.count)
            #expect(it.mount.clock.uptime - begin >= Self.latency * Self.count)
            #expect(try await it.find(Self.last) == found.inode)
        }
    }

    @Test func `learns at once that there is no such name, and does not remember it`() throws {
        try Self.run { it in
            let begin = it.mount.clock.uptime
            let error = await #expect(throws: EngineError.self) { try await it.find("new") }
            #expect(error?.kind == .notFound)
            try it.remote.otherClientWrites(Scenario.key("new"), [1])
            _ = try await it.find("new")
            #expect(it.mount.clock.uptime - begin < Self.latency * 6)
        }
    }

    /// Goal: a listing does not remove a name that was created after its page.
    @Test func `finds what the listing in progress has missed, and it stays`() throws {
        try Self.run { it in
            _ = try await it.find(Self.last)
            try await it.wait(Self.latency * 10)
            try it.remote.otherClientWrites(Scenario.key("file 0"), [1, 2])
            let inode = try await it.find("file 0")
            #expect(try await it.names(in: "").count == Self.count + 1)
            #expect(try await it.find("file 0") == inode)
        }
    }

    /// Goal: a file that was removed here meanwhile is not found again on the remote.
    @Test func `does not find a name that was removed here`() throws {
        try Self.run { it in
            _ = try await it.find(Self.last)
            try await it.unlink(Self.last)
            let begin = it.mount.clock.uptime
            let error = await #expect(throws: EngineError.self) { try await it.find(Self.last) }
            #expect(error?.kind == .notFound)
            #expect(it.mount.clock.uptime - begin < Self.latency * 3)
            #expect(try await it.names(in: "").count == Self.count - 1)
        }
    }

    @Test func `waits for the listing if the store does not answer the question`() throws {
        try Self.run { it in
            it.remote.refuse(.denied, attempts: "stat")
            let begin = it.mount.clock.uptime
            _ = try await it.find(Self.last)
            #expect(it.mount.clock.uptime - begin >= Self.latency * Self.count)
        }
    }

    @Test func `asks nothing else if the listing is quick`() throws {
        var settings = SimulatedMountSettings()
        settings.provider.latency = .milliseconds(100)...(.milliseconds(100))
        try Scenario.run(settings: settings) { remote in
            try remote.otherClientWrites(Scenario.key("file"), [1])
        } _: { it in
            it.remote.refuse(.denied, attempts: "stat \"file\"")
            _ = try await it.find("file")
            #expect(it.remote.refusalsGiven == 0)
        }
    }

    /// Goal: a first lookup takes one round trip if listings lack the metadata that it waits for, in
    /// whichever order the two answers come.
    @Test(arguments: ["list", "stat"])
    func `asks for the metadata beside the listing`(late: String) throws {
        var settings = SimulatedMountSettings()
        settings.provider.latency = .milliseconds(100)...(.milliseconds(100))
        settings.provider.listsMetadata = false
        try Scenario.run(settings: settings) { remote in
            try remote.otherClientWrites(Scenario.key("file"), [1], mode: 0o600)
        } _: { it in
            it.remote.setDelay(.milliseconds(180), attempts: late)
            let begin = it.mount.clock.uptime
            let found = try await it.look(at: "file")
            #expect(found.mode == 0o600)
            #expect(!found.isProvisional)
            #expect(it.mount.clock.uptime - begin < .milliseconds(190))
            #expect(try await it.names(in: "") == ["file"])
            #expect(try await it.look(at: "file") == found)
        }
    }

    /// A store that gives first bytes, behind a latency.
    private static func runWithFirstBytes(
        _ bytes: [UInt8], listsMetadata: Bool = true,
        checksums: SimulatedChecksumKind = .none,
        _ body: @escaping @Sendable (Scenario) async throws -> Void
    ) throws {
        var settings = SimulatedMountSettings()
        settings.provider.latency = .milliseconds(100)...(.milliseconds(100))
        settings.provider.pieceBytes = 65_536...65_536
        settings.provider.givesFirstBytes = true
        settings.provider.omitsFirstBytes = false
        settings.provider.listsMetadata = listsMetadata
        settings.provider.checksums = checksums
        try Scenario.run(settings: settings) { remote in
            for name in ["file", "other"] {
                try remote.otherClientWrites(Scenario.key(name), bytes)
            }
        } _: { it in
            try await body(it)
        }
    }

    /// Goal: a small file that is opened by its path takes one round trip in all, and its directory is
    /// listed nevertheless.
    @Test(arguments: [true, false])
    func `has the first bytes of the file sent`(listsMetadata: Bool) throws {
        let bytes = [UInt8](repeating: 7, count: FirstBytes.bytesMax)
        try Self.runWithFirstBytes(bytes, listsMetadata: listsMetadata) { it in
            let begin = it.mount.clock.uptime
            let read = try await it.read("file")
            #expect(read == bytes)
            #expect(it.mount.clock.uptime - begin < .milliseconds(150))
            #expect(it.remote.bytesRead == 0)
            let total = it.engine.transfer.downloader.fetched.total.withLock { $0 }
            #expect(total == UInt64(bytes.count))
            #expect(try await it.names(in: "") == ["file", "other"])
            // The second name is that of a known directory.
            #expect(try await it.read("other") == bytes)
            #expect(it.remote.bytesRead == UInt64(bytes.count))
        }
    }

    @Test func `has only the rest of a larger file fetched`() throws {
        let bytes = TestBytes.random(FirstBytes.bytesMax * 3)
        try Self.runWithFirstBytes(bytes) { it in
            let read = try await it.read("file")
            #expect(read == bytes)
            #expect(it.remote.bytesRead == UInt64(FirstBytes.bytesMax * 2))
        }
    }

    /// Goal: of a store that keeps checksums, a file comes in one answer that shows its checksum (I5), and
    /// no further request is needed for that.
    @Test(arguments: [1, 3])
    func `has a whole file sent if its checksum is known`(factor: Int) throws {
        let size = FirstBytes.bytesMax * factor
        let bytes = TestBytes.random(size)
        try Self.runWithFirstBytes(bytes, checksums: .declared) { it in
            it.remote.damageReads(1)
            let read = try await it.read("file")
            #expect(read == bytes)
            #expect(it.remote.bytesRead == (factor == 1 ? 0 : UInt64(size)))
            try await it.wait(.seconds(10))
            #expect(it.remote.checksumsAsked == 0)
        }
    }

    /// Goal: an open still finds out that another client has replaced the file, unless the lookup was right
    /// before it.
    @Test func `has first bytes of another version left alone`() throws {
        try Self.runWithFirstBytes([1, 1, 1]) { it in
            _ = try await it.find("file")
            try it.remote.otherClientWrites(Scenario.key("file"), [2, 2])
            try await it.wait(FirstBytes.age + .milliseconds(100))
            await #expect(throws: EngineError.self) { try await it.read("file") }
            #expect(try await it.read("file") == [2, 2])
        }
    }

    /// Goal: `metadata=listing` means that no look of a program causes a request for an object.
    @Test func `asks for no first bytes if listings are trusted`() throws {
        var settings = SimulatedMountSettings()
        settings.provider.latency = .milliseconds(100)...(.milliseconds(100))
        settings.provider.givesFirstBytes = true
        settings.provider.listsMetadata = false
        settings.provider.trustsListings = true
        try Scenario.run(settings: settings) { remote in
            try remote.otherClientWrites(Scenario.key("file"), [1])
        } _: { it in
            it.remote.refuse(.denied, attempts: "stat")
            _ = try await it.find("file")
            #expect(it.remote.refusalsGiven == 0)
        }
    }

    @Test func `does not wait long for the metadata once the directory is listed`() throws {
        var settings = SimulatedMountSettings()
        settings.provider.latency = .milliseconds(100)...(.milliseconds(100))
        settings.provider.listsMetadata = false
        try Scenario.run(settings: settings) { remote in
            try remote.otherClientWrites(Scenario.key("file"), [1], mode: 0o600)
        } _: { it in
            it.remote.stand(true, attempts: "stat")
            let begin = it.mount.clock.uptime
            _ = try await it.look(at: "file")
            #expect(it.mount.clock.uptime - begin < MetadataFetcher.patience + .milliseconds(400))
            await #expect(throws: EngineError.self) { try await it.find("other") }
        }
    }
}
