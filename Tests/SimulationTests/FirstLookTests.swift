import Simulation
import Testing

@testable import Engine

/// A store whose listings have neither modes nor exact times, and a program that calls `stat`.
@Suite("The first query of a file's metadata")
struct FirstLookTests {
    private static let latency: Duration = .milliseconds(100)
    private static let count = 200

    private static func run(
        _ body: @escaping @Sendable (Scenario) async throws -> Void
    ) throws {
        var settings = SimulatedMountSettings()
        settings.provider.listsMetadata = false
        settings.provider.latency = latency...latency
        try Scenario.run(settings: settings) { remote in
            for number in 0..<count {
                try remote.otherClientWrites(
                    Scenario.key("file \(1_000 + number)"), [1], mode: 0o600)
            }
        } _: { scenario in
            // Known from the listing alone.
            #expect(try await scenario.names(in: "").count == count)
            try await body(scenario)
        }
    }

    @Test func `fetches metadata missing in a listing`() throws {
        try Self.run { it in
            let begin = it.mount.clock.uptime
            let attributes = try await it.look(at: "file 1007")
            #expect(attributes.mode == 0o600)
            #expect(!attributes.isProvisional)
            #expect(it.mount.clock.uptime - begin < Self.latency * 2)
        }
    }

    /// A directory closed to others must not be open to them until the second query.
    @Test func `of a directory fetches its mode`() throws {
        var settings = SimulatedMountSettings()
        settings.provider.listsMetadata = false
        try Scenario.run(settings: settings) { remote in
            try remote.otherClientMakesDirectory(Scenario.key("closed"), mode: 0o700)
            try remote.otherClientMakesDirectory(Scenario.key("closed/within"), mode: 0o1770)
        } _: { it in
            for (path, mode) in [("closed", UInt16(0o700)), ("closed/within", 0o1770)] {
                let found = try await it.look(at: path)
                #expect(found.mode == mode)
            }
        }
    }

    @Test func `at all files of a directory takes no round trip for each`() throws {
        try Self.run { it in
            let entries = try await it.engine.retrying { () throws(Blocked) in
                try it.engine.entries(of: .root, after: 0, limit: .max)
            }
            let begin = it.mount.clock.uptime
            for entry in entries {
                let found = try await it.look(at: entry.name.description)
                #expect(found.mode == 0o600)
            }
            // The store has four at a time; the first few are asked for one by one.
            let took = it.mount.clock.uptime - begin
            #expect(took < Self.latency * (Self.count / 4 + 10), "\(took)")
        }
    }

    @Test func `at one file does not affect the others, nor does a listing`() throws {
        try Self.run { it in
            _ = try await it.look(at: "file 1001")
            try await it.wait(.seconds(5))
            let entries = try await it.engine.retrying { () throws(Blocked) in
                try it.engine.entries(of: .root, after: 0, limit: .max)
            }
            #expect(entries.filter { !$0.attributes.isProvisional }.count == 1)
            #expect(
                entries.allSatisfy {
                    $0.attributes.isProvisional == $0.attributes.isKindProvisional
                })
        }
    }

    @Test func `at the first file of a directory also fetches that of some others`() throws {
        try Self.run { it in
            _ = try await it.look(at: "file 1000")
            try await it.wait(.seconds(5))
            let entries = try await it.engine.retrying { () throws(Blocked) in
                try it.engine.entries(of: .root, after: 0, limit: .max)
            }
            #expect(entries.prefix(9).allSatisfy { !$0.attributes.isProvisional })
            #expect(entries.dropFirst(9).allSatisfy { $0.attributes.isProvisional })
        }
    }

    /// A store that stands still is waited for once, not file by file.
    @Test func `is answered from the listing if the store does not answer`() throws {
        try Self.run { it in
            it.remote.stand(true, attempts: "stat")
            let begin = it.mount.clock.uptime
            for number in 0..<Self.count {
                let found = try await it.look(at: "file \(1_000 + number)")
                #expect(found.isProvisional)
            }
            #expect(it.mount.clock.uptime - begin == MetadataFetcher.patience)
            it.remote.stand(false)
            try await it.wait(.seconds(130))
            let found = try await it.look(at: "file 1100")
            #expect(found.mode == 0o600)
        }
    }

    @Test func `is answered from the listing while there is no network`() throws {
        try Self.run { it in
            it.remote.setReachable(false)
            let found = try await it.look(at: "file 1000")
            #expect(found.isProvisional)
            try await it.wait(.seconds(10))
            let begin = it.mount.clock.uptime
            for number in 0..<Self.count {
                let found = try await it.look(at: "file \(1_000 + number)")
                #expect(found.isProvisional)
            }
            #expect(it.mount.clock.uptime == begin)
        }
    }

    /// Goal: a user who trusts listings causes no request for an object, and overwrites nothing unseen.
    @Test func `asks nothing if listings are trusted, except before a change is sent`() throws {
        var settings = SimulatedMountSettings()
        settings.provider.listsMetadata = false
        settings.provider.trustsListings = true
        let attribute = Array("user.a".utf8)
        try Scenario.run(settings: settings) { remote in
            for number in 0..<10 {
                try remote.otherClientWrites(Scenario.key("file \(number)"), [1], mode: 0o600)
            }
            try remote.otherClientSets(attribute, of: Scenario.key("file 1"), to: [7])
        } _: { it in
            it.remote.refuse(.denied, attempts: "stat")
            for name in try await it.names(in: "") {
                let found = try await it.look(at: name)
                #expect(found.mode == 0o644)
                #expect(!found.isProvisional && !found.isKindProvisional)
            }
            try await it.wait(.seconds(60))
            #expect(it.remote.refusalsGiven == 0)
            it.remote.refuse(nil)
            try await it.write("file 1", [1, 2])
            #expect(try await it.rest())
            #expect(it.remoteBytes("file 1") == [1, 2])
            let sent = try #require(it.remote.attributes()[Scenario.key("file 1")])
            #expect(sent.mode == 0o600)
            #expect(sent.extendedAttributes[attribute] == [7])
            #expect(try await it.look(at: "file 1").mode == 0o600)
        }
    }

    /// Goal: an attribute set by a program is sent even if it is the one that was assumed.
    @Test(arguments: [true, false])
    func `keeps attributes that a program sets to what the listing has`(trusts: Bool) throws {
        var settings = SimulatedMountSettings()
        settings.provider.listsMetadata = false
        settings.provider.trustsListings = trusts
        try Scenario.run(settings: settings) { remote in
            for name in ["file", "other"] {
                try remote.otherClientWrites(Scenario.key(name), [1], mode: 0o600)
            }
            try remote.otherClientMakesDirectory(Scenario.key("d"), mode: 0o700)
        } _: { it in
            _ = try await it.names(in: "")
            it.remote.setReachable(false)
            try await it.wait(.seconds(10))
            for name in ["file", "d"] {
                let assumed = try await it.look(at: name)
                #expect(assumed.mode == (name == "d" ? 0o755 : 0o644))
                var change = AttributeChange()
                change.mode = assumed.mode
                change.modified = .at(assumed.modified)
                _ = try it.engine.setAttributes(of: assumed.inode, to: change)
            }
            it.remote.setReachable(true)
            try await it.awaitReach()
            #expect(try await it.rest())
            #expect(it.remote.attributes()[Scenario.key("file")]?.mode == 0o644)
            #expect(it.remote.attributes()[Scenario.key("d")]?.mode == 0o755)
            #expect(it.remote.attributes()[Scenario.key("other")]?.mode == 0o600)
            #expect(try await it.look(at: "file").mode == 0o644)
            #expect(try await it.look(at: "d").mode == 0o755)
        }
    }

    @Test func `is repeated if a connection breaks`() throws {
        try Self.run { it in
            it.remote.setReachable(false)
            async let looker = it.look(at: "file 1000")
            try await it.wait(Self.latency + .milliseconds(10))
            it.remote.setReachable(true)
            let found = try await looker
            #expect(found.mode == 0o600)
        }
    }

    /// Method: a query that ends without a result and is repeated at once would never end, as no
    /// time passes.
    @Test func `is answered from the listing if its remote path is not known`() throws {
        var settings = SimulatedMountSettings()
        settings.provider.listsMetadata = false
        try Scenario.run(settings: settings) { remote in
            try remote.otherClientMakesDirectory(Scenario.key("d"))
            try remote.otherClientWrites(Scenario.key("d/a"), [1])
        } _: { it in
            _ = try await it.names(in: "d")
            let directory = try await it.find("d")
            try it.engine.store.write { try $0.removeSynced(directory) }
            let found = try await it.look(at: "d/a")
            #expect(found.isProvisional)
        }
    }

    /// Otherwise a program with a timer would never learn the metadata of a file.
    @Test func `is answered from the listing if a signal interrupts it`() throws {
        try Self.run { it in
            it.remote.stand(true, attempts: "stat")
            let found = try await withThrowingTaskGroup(of: Attributes.self) { group in
                group.addTask { try await it.look(at: "file 1000") }
                try await it.wait(.seconds(1))
                group.cancelAll()
                return try await group.next()
            }
            #expect(found?.isProvisional == true)
        }
    }

    @Test func `is answered from the listing during the move of a directory above it`() throws {
        var settings = SimulatedMountSettings()
        settings.provider.listsMetadata = false
        settings.provider.movesDirectoriesAtOnce = false
        settings.provider.pieceDelay = .seconds(10)...(.seconds(10))
        try Scenario.run(settings: settings) { remote in
            try remote.otherClientMakesDirectory(Scenario.key("old"))
            for name in ["a", "b", "c"] {
                try remote.otherClientWrites(Scenario.key("old/\(name)"), [1], mode: 0o600)
            }
        } _: { it in
            _ = try await it.names(in: "old")
            try await it.rename("old", to: "new")
            for _ in 0..<100 where !it.remotePaths.contains("new/a") {
                try await it.wait(.seconds(1))
            }
            let begin = it.mount.clock.uptime
            let found = try await it.look(at: "new/c")
            #expect(found.isProvisional)
            #expect(it.mount.clock.uptime == begin)
            #expect(try await it.rest())
            let after = try await it.look(at: "new/c")
            #expect(after.mode == 0o600)
        }
    }

    @Test func `is answered from the listing if the store refuses it`() throws {
        try Self.run { it in
            it.remote.refuse(.denied, attempts: "stat")
            let found = try await it.look(at: "file 1000")
            #expect(found.isProvisional)
            it.remote.refuse(nil)
            try await it.wait(.seconds(10))
            let again = try await it.look(at: "file 1000")
            #expect(again.mode == 0o600)
        }
    }
}

extension FirstLookTests {
    private static let key = Scenario.key("file 1000")
    private static let time = Timestamp(seconds: 1_234_567_890)

    /// The version stays, and so do the bytes here.
    @Test func `is repeated after another client set mode or time of a known file`() throws {
        try Self.run { it in
            let before = try await it.look(at: "file 1000")
            #expect(before.mode == 0o600)
            try it.remote.otherClientSetsHeaders(of: Self.key, mode: 0o640, modified: Self.time)
            try await it.refresh()
            let after = try await it.look(at: "file 1000")
            #expect(after.inode == before.inode)
            #expect(after.mode == 0o640)
            #expect(after.modified == Self.time)
            #expect(after.changed > before.changed)
        }
    }

    /// Method: only the mode is set, which does not change the time in the simulated store's
    /// listings.
    @Test func `is repeated if the time of a change does not distinguish it from the previous one`()
        throws
    {
        try Self.run { it in
            it.remote.setSettlesAtOnce(false)
            let before = try await it.look(at: "file 1000")
            try it.remote.otherClientSetsHeaders(
                of: Self.key, mode: 0o640, modified: before.modified)
            it.remote.setSettlesAtOnce(true)
            try await it.refresh()
            #expect(try await it.look(at: "file 1000").mode == 0o640)
            for _ in 0..<2 {
                try await it.refresh()
                #expect(try await it.isProvisional("file 1000") == false, "that was once")
            }
        }
    }

    @Test func `precedes a local change, so that attributes set by other clients are kept`() throws
    {
        try Self.run { it in
            _ = try await it.look(at: "file 1000")
            try it.remote.otherClientSetsHeaders(of: Self.key, mode: 0o640, modified: Self.time)
            try await it.refresh()
            // By its number, which queries no metadata.
            let entry = try #require(
                try await it.engine.retrying { () throws(Blocked) in
                    try it.engine.entries(of: .root, after: 0, limit: .max)
                }.first { $0.name.description == "file 1000" })
            try await it.open(entry.attributes.inode)
            try await it.write([7], at: 0, of: entry.attributes.inode)
            it.engine.release(entry.attributes.inode, access: .write)
            #expect(try await it.rest())
            #expect(it.remoteBytes("file 1000") == [7])
            #expect(it.remote.attributes()[Self.key]?.mode == 0o640)
        }
    }

    @Test func `keeps attributes set by another client of a file that is open and unchanged here`()
        throws
    {
        try Self.run { it in
            let file = try await it.look(at: "file 1000").inode
            try await it.open(file)
            try it.remote.otherClientSetsHeaders(of: Self.key, mode: 0o640, modified: Self.time)
            try await it.refresh()
            let found = try await it.look(at: "file 1000")
            #expect(found.mode == 0o640)
            it.engine.release(file, access: .write)
            #expect(try await it.rest())
            let object = try await it.remote.stat(Self.key)
            #expect(object.modified == Self.time)
            let after = try await it.look(at: "file 1000")
            #expect(after.modified == Self.time)
        }
    }

    /// Method: by the time of the next listing both changes have been made.
    @Test func `is repeated after another client's change right after ours`() throws {
        try Self.run { it in
            _ = try await it.look(at: "file 1000")
            try await it.write("file 1000", [7])
            #expect(try await it.rest())
            try it.remote.otherClientSetsHeaders(of: Self.key, mode: 0o640, modified: Self.time)
            try await it.refresh()
            #expect(try await it.look(at: "file 1000").mode == 0o640)
            #expect(try await it.look(at: "file 1000").modified == Self.time)
        }
    }

    /// The store writes a file for each of our changes, which is visible in listings.
    @Test func `is not repeated for our own changes`() throws {
        try Self.run { it in
            let file = try await it.look(at: "file 1000").inode
            var change = AttributeChange()
            change.modified = .at(Self.time)
            _ = try it.engine.setAttributes(of: file, to: change)
            #expect(try await it.rest())
            for _ in 0..<2 {
                try await it.refresh()
                #expect(try await it.isProvisional("file 1000") == false)
                #expect(try await it.look(at: "file 1000").modified == Self.time)
            }
        }
    }
}

extension Scenario {
    /// Whether an entry of the root is known only from a listing.
    fileprivate func isProvisional(_ name: String) async throws -> Bool? {
        let entries = try await engine.retrying { () throws(Blocked) in
            try engine.entries(of: .root, after: 0, limit: .max)
        }
        return entries.first { $0.name.description == name }?.attributes.isProvisional
    }

    func look(at path: String) async throws -> Attributes {
        let inode = try await find(path)
        return try await engine.retrying { () throws(Blocked) in try engine.attributes(of: inode) }
    }
}
