import GRDB
import Simulation
import Testing

@testable import Engine

/// Programs that read a tree directory by directory, on a remote at some distance.
@Suite("A walk through a tree")
struct TreeWalkTests {
    private static let latency: Duration = .milliseconds(100)
    private static let directories = 100
    private static let files = 10

    private static func name(_ number: Int) -> String { "d\(1_000 + number)" }

    private static func run(
        listsMetadata: Bool = true, isNested: Bool = false, pageEntries: Int? = nil,
        refreshInterval: Duration = .seconds(30),
        _ body: @escaping @Sendable (Scenario) async throws -> Void
    ) throws {
        var settings = SimulatedMountSettings()
        settings.provider.listsMetadata = listsMetadata
        settings.provider.latency = latency...latency
        settings.provider.pageEntries = pageEntries ?? settings.provider.pageEntries
        settings.engine.refreshInterval = refreshInterval
        // As mounts have it.
        settings.engine.firstLookMax = .seconds(1)
        try Scenario.run(settings: settings) { remote in
            for number in 0..<directories {
                let directory = name(number) + (isNested ? "/below" : "")
                try remote.otherClientMakesDirectory(Scenario.key(name(number)))
                if isNested { try remote.otherClientMakesDirectory(Scenario.key(directory)) }
                for file in 0..<files {
                    try remote.otherClientWrites(
                        Scenario.key("\(directory)/f\(file)"), [1], mode: 0o600)
                }
            }
        } _: { scenario in
            #expect(try await scenario.names(in: "").count == directories)
            try await body(scenario)
        }
    }

    /// The number of directories that were listed on the remote, except for the root.
    private static func listed(_ it: Scenario) throws -> Int {
        try it.engine.store.read { database in
            try database.value("SELECT count(*) FROM inodes WHERE kind = 1 AND listed AND id > 1")
                ?? 0
        }
    }

    @Test(arguments: [false, true])
    func `lists directories side by side`(isNested: Bool) throws {
        try Self.run(isNested: isNested) { it in
            let begin = it.mount.clock.uptime
            for number in 0..<Self.directories {
                let path = Self.name(number)
                let names = try await it.names(in: path)
                #expect(names.count == (isNested ? 1 : Self.files))
                guard isNested else { continue }
                let below = try await it.names(in: "\(path)/below")
                #expect(below.count == Self.files)
            }
            let took = it.mount.clock.uptime - begin
            #expect(took < Self.latency * (isNested ? 40 : 15), "\(took)")
        }
    }

    /// Goal: a program that opens some folders does not download the tree.
    @Test func `lists nothing ahead of a program that reads one directory, and then another`()
        throws
    {
        try Self.run { it in
            _ = try await it.names(in: Self.name(0))
            try await it.wait(.seconds(2))
            #expect(try Self.listed(it) == 1)
            for number in stride(from: 10, to: 100, by: 10) {
                _ = try await it.names(in: Self.name(number))
            }
            try await it.wait(.seconds(2))
            #expect(try Self.listed(it) == 10)
        }
    }

    @Test func `that stops has listed few directories that no program asked for`() throws {
        try Self.run { it in
            for number in 0..<10 { _ = try await it.names(in: Self.name(number)) }
            try await it.wait(.seconds(20))
            #expect(try Self.listed(it) <= 10 + WalkDetector.aheadMax)
        }
    }

    /// Goal: listings ahead are not repeated at the first use, and a second walk asks nothing.
    @Test func `asks for each directory once`() throws {
        try Self.run(refreshInterval: .seconds(600)) { it in
            for number in 0..<Self.directories { _ = try await it.names(in: Self.name(number)) }
            it.remote.refuse(.denied, attempts: "list")
            try await it.wait(.seconds(5))
            for number in 0..<Self.directories {
                #expect(try await it.names(in: Self.name(number)).count == Self.files)
            }
            try await it.wait(.seconds(5))
            #expect(it.remote.refusalsGiven == 0)
        }
    }

    /// Goal: a large directory that was listed ahead of a walk, which stopped before it.
    @Test func `that stops ends the long listings ahead`() throws {
        try Self.run(pageEntries: 1) { it in
            for number in 0..<400 {
                try it.remote.otherClientWrites(
                    Scenario.key("\(Self.name(12))/more \(number)"), [1])
            }
            for number in 0..<10 { _ = try await it.names(in: Self.name(number)) }
            let large = try await it.find(Self.name(12))
            let listings = it.engine.remote.lister.listings
            #expect(listings.flight(of: large) != nil)
            try await it.wait(.seconds(15))
            #expect(listings.flight(of: large) == nil)
            #expect(try it.engine.store.read { try $0.existingInode(large).isListed } == false)
            #expect(try await it.names(in: Self.name(12)).count == Self.files + 400)
        }
    }

    @Test func `with a look at each file fetches the metadata of many directories ahead`() throws {
        try Self.run(listsMetadata: false) { it in
            let begin = it.mount.clock.uptime
            for number in 0..<Self.directories {
                let path = Self.name(number)
                _ = try await it.look(at: path)
                for name in try await it.names(in: path) {
                    let found = try await it.look(at: "\(path)/\(name)")
                    #expect(found.mode == 0o600)
                }
            }
            let took = it.mount.clock.uptime - begin
            // The store answers four questions at a time.
            let questions = Self.directories * (Self.files + 1)
            #expect(took < Self.latency * (questions / 4 + 60), "\(took)")
        }
    }

    /// Goal: what other clients do between the listing ahead and its use is seen as ever.
    @Test func `shows changes made after a listing ahead at the next refresh`() throws {
        try Self.run { it in
            for number in 0..<10 { _ = try await it.names(in: Self.name(number)) }
            try await it.wait(.seconds(1))
            try it.remote.otherClientWrites(Scenario.key("\(Self.name(15))/new"), [1])
            try it.remote.otherClientDeletes(Scenario.key("\(Self.name(15))/f0"))
            _ = try await it.names(in: Self.name(15))
            try await it.wait(.seconds(31))
            let names = try await it.names(in: Self.name(15))
            #expect(names.contains("new"))
            #expect(!names.contains("f0"))
        }
    }

    /// Goal: a program that looks at a directory before and after its listing ahead sees one state, except
    /// for the number of subdirectories.
    @Test func `leaves the times of directories listed ahead as they were`() throws {
        try Self.run(isNested: true) { it in
            for number in 0..<4 { _ = try await it.names(in: Self.name(number)) }
            let paths = (4..<Self.directories).map(Self.name)
            var before: [Attributes] = []
            for path in paths { before.append(try await it.look(at: path)) }
            for path in paths { _ = try await it.names(in: path) }
            for (path, before) in zip(paths, before) {
                let after = try await it.look(at: path)
                #expect(after.modified == before.modified && after.changed == before.changed)
                #expect(after.links == 3)
            }
        }
    }

    @Test func `goes on if some listings ahead fail`() throws {
        try Self.run { it in
            for number in 0..<4 { _ = try await it.names(in: Self.name(number)) }
            it.remote.setReachable(false)
            try await it.wait(.seconds(1))
            it.remote.setReachable(true)
            try await it.awaitReach()
            for number in 4..<Self.directories {
                #expect(try await it.names(in: Self.name(number)).count == Self.files)
            }
        }
    }

    /// Goal: no program waits for a search through a large tree that is known already.
    @Test func `searches a bounded number of directories for the next ones`() throws {
        try Scenario.run { it in
            let (found, asked) = try it.engine.store.write { database in
                // 40 listed directories with 40 listed ones, each of which has a known one.
                try database.execute(
                    sql: """
                        WITH RECURSIVE numbers (number) AS (
                            SELECT 2 UNION ALL SELECT number + 1 FROM numbers WHERE number < 3241)
                        INSERT INTO inodes (id, kind, mode, uid, gid, links, size, modified,
                            changed, presence, generation, writing, listed, accessed)
                        SELECT number, 1, 493, 0, 0, 2, 0, 0, 0, 2, 1, 0, number < 1642, 0
                        FROM numbers;
                        INSERT INTO dirents (parent, name, inode)
                        SELECT CASE WHEN id < 42 THEN 1 WHEN id < 1642 THEN 2 + (id - 42) / 40
                            ELSE id - 1600 END, CAST(id AS BLOB), id FROM inodes WHERE id > 1
                        """)
                let asked = Locked(0)
                var search = TreeWalks.AheadSearch(database: database, count: 32) { _ in
                    asked.withLock { $0 += 1 }
                    return true
                }
                try search.add(below: .root, after: 0, depth: 0)
                return (search.found, asked.withLock { $0 })
            }
            #expect(found.isEmpty)
            #expect((1...256).contains(asked), "\(asked)")
        }
    }

    /// Goal: no error for a program that needs a directory at the moment in which the walk that
    /// listed it ahead has ended.
    @Test func `that ends leaves no listing unanswered that a program joins`() throws {
        try Scenario.run { it in
            let (queue, clock) = (ListingQueue(), it.mount.clock)
            let directory = InodeNumber(rawValue: 2)
            let (withdrawn, joined) = (Signal(), Signal())
            try await withThrowingTaskGroup { group in
                group.addTask {
                    await queue.run { _, flight in
                        guard flight.withdraw() else { return }
                        withdrawn.notify()
                        await joined.wait(after: 0)
                        throw CancellationError()
                    }
                }
                _ = queue.request(directory, isAhead: true, at: clock.uptime)
                await withdrawn.wait(after: 0)
                let flight = queue.request(directory, at: clock.uptime)
                joined.notify()
                try await queue.awaitEnd(of: flight, for: directory, on: clock)
                group.cancelAll()
            }
        }
    }
}
