import Simulation
import Testing

@testable import Engine

/// Directories that take longer to list than a request may wait.
@Suite("A long listing")
struct ListingTests {
    private static let count = 10

    /// A slow store, by default with small pages, which take 200 s in total.
    private static func run(
        latency: Duration = .seconds(20), pageEntries: Int = 1,
        _ body: @escaping @Sendable (Scenario) async throws -> Void
    ) throws {
        var settings = SimulatedMountSettings()
        settings.provider.latency = latency...latency
        settings.provider.pageEntries = pageEntries
        try Scenario.run(settings: settings) { remote in
            for number in 0..<count {
                try remote.otherClientWrites(Scenario.key("file \(number)"), [UInt8(number)])
            }
        } _: { scenario in
            try await body(scenario)
        }
    }

    @Test func `is waited for while its pages keep arriving`() throws {
        try Self.run { scenario in
            let begin = scenario.mount.clock.uptime
            let names = try await scenario.names(in: "")
            #expect(names.count == Self.count)
            let configuration = scenario.engine.configuration
            #expect(scenario.mount.clock.uptime - begin > configuration.requestDeadline)
        }
    }

    @Test func `continues when its caller gives up`() throws {
        try Self.run { scenario in
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    let error = await #expect(throws: EngineError.self) {
                        try await scenario.names(in: "")
                    }
                    #expect(error?.kind == .interrupted)
                }
                try? await scenario.wait(.seconds(30))
                group.cancelAll()
            }
            try await scenario.wait(.seconds(200))
            let begin = scenario.mount.clock.uptime
            let names = try await scenario.names(in: "")
            #expect(names.count == Self.count)
            #expect(scenario.mount.clock.uptime == begin, "it was known")
        }
    }

    /// Method: `ls` reads a directory in pieces, and a file of the first becomes another version.
    @Test func `shows a name once, even if its file is replaced meanwhile`() throws {
        try Scenario.run { remote in
            for name in ["a", "b", "c"] {
                try remote.otherClientWrites(Scenario.key(name), [1])
            }
        } _: { it in
            #expect(try await it.names(in: "").sorted() == ["a", "b", "c"])
            let before = try it.engine.entries(of: .root, after: 0, limit: 2)
            let first = try #require(before.first)
            try it.remote.otherClientWrites(Scenario.key(first.name.description), [2])
            try await it.refresh()
            let last = try #require(before.last)
            let after = try it.engine.entries(of: .root, after: last.cookie, limit: 9)
            let names = (before + after).map(\.name.description)
            #expect(names.sorted() == ["a", "b", "c"])
            #expect(try await it.read(first.name.description) == [2])
        }
    }

    /// Goal: new objects that are stored together do not displace others, nor each other.
    @Test func `that has several objects of one name shows the last one of them`() throws {
        try Scenario.run { remote in
            try remote.otherClientWrites(Scenario.key("known"), [1])
            try remote.otherClientMakesDirectory(Scenario.key("directory"))
        } _: { it in
            #expect(try await it.names(in: "").sorted() == ["directory", "known"])
            let known = try await it.remote.stat(Scenario.key("known"))
            let directory = try await it.remote.stat(Scenario.key("directory"))
            try await it.write("local", [1, 2, 3])
            func object(_ name: String, like other: RemoteObject, size: UInt64 = 1) -> RemoteObject
            {
                var object = other
                object.name = FileName(name)!
                guard object.kind == .file else { return object }
                object.size = size
                object.etag = ETag("\(name) \(size)")
                return object
            }
            try it.engine.merge([
                object("b", like: known, size: 5), object("new", like: directory), known,
                object("a", like: known, size: 6), object("b", like: known, size: 7),
                object("local", like: known, size: 9),
            ])
            let entries = try it.engine.entries(of: .root, after: 0, limit: 100)
            let sizes = entries.filter { $0.attributes.kind == .file }.map {
                "\($0.name) \($0.attributes.size)"
            }
            #expect(sizes.sorted() == ["a 6", "b 7", "known 1", "local 3"])
            #expect(entries.count == 6)
            #expect(try it.engine.attributes(of: .root).links == 4)
        }
    }

    /// Method: a listing takes 10 s, and the directory is in use all the time.
    @Test func `of a directory that takes long to list is repeated after a pause`() throws {
        try Self.run(latency: .seconds(1)) { it in
            #expect(try await it.names(in: "").count == Self.count)
            // 20 times its duration, and 40 times after a listing without a change.
            for (waits, pause) in [(1, 200), (2, 200 + 10 + 400), (1, 200)] {
                let begin = it.mount.clock.uptime
                if waits > 1 { try await it.wait(.seconds(245)) }
                let name = "new \(begin.components.seconds)"
                try it.remote.otherClientWrites(Scenario.key(name), [1])
                while try await !it.names(in: "").contains(name) { try await it.wait(.seconds(1)) }
                let waited = it.mount.clock.uptime - begin
                #expect(waited >= .seconds(pause), "\(waited)")
                #expect(waited < .seconds(pause) * 3 / 2, "\(waited)")
            }
        }
    }

    /// Goal: a change of another client is shown within `--refresh` and the time of a listing, if
    /// that is 1.5 s or less, however long nothing has changed.
    /// Method: two pages, each after 0.7 s.
    @Test func `of less than two seconds is no reason to list less often`() throws {
        try Self.run(latency: .milliseconds(700), pageEntries: 5) { it in
            #expect(try await it.names(in: "").count == Self.count)
            for _ in 0..<10 {
                try await it.wait(.seconds(35))
                _ = try await it.names(in: "")
            }
            // In place of another object, so that there are still two pages.
            try it.remote.otherClientWrites(Scenario.key("file 0"), [1, 2, 3])
            try await it.wait(it.engine.configuration.refreshInterval + .seconds(2))
            let shown = try it.engine.entries(of: .root, after: 0, limit: 100)
            #expect(shown.first { $0.name.description == "file 0" }?.attributes.size == 3)
        }
    }

    @Test func `does not delay other directories`() throws {
        try Scenario.run { remote in
            for name in ["slow", "fast"] {
                try remote.otherClientMakesDirectory(Scenario.key(name))
            }
        } _: { scenario in
            #expect(try await scenario.names(in: "slow") == [])
            #expect(try await scenario.names(in: "fast") == [])
            scenario.remote.stand(true, attempts: "list \"slow\"")
            try await scenario.wait(.seconds(60))
            _ = try await scenario.names(in: "slow")
            try await scenario.wait(.seconds(1))
            try scenario.remote.otherClientWrites(Scenario.key("fast/new"), [1])
            try await scenario.wait(.seconds(65))
            #expect(try await scenario.names(in: "fast") == ["new"])
        }
    }

    @Test func `ends at the deadline if no more pages arrive`() throws {
        try Self.run { scenario in
            async let looker = scenario.names(in: "")
            try await scenario.wait(.seconds(50))
            scenario.remote.setReachable(false)
            do {
                let names = try await looker
                Issue.record("it has \(names)")
            } catch let error as EngineError {
                #expect(error.kind == .unreachable)
            }
            scenario.remote.setReachable(true)
            try await scenario.awaitReach()
            let names = try await scenario.names(in: "")
            #expect(names.count == Self.count)
        }
    }

    /// Goal: a listing that this machine cannot store fails with the reason, not after a minute as
    /// if the remote did not answer, and the next one shows everything.
    @Test func `that finds no room here fails at once, for lack of space`() throws {
        try Scenario.run { remote in
            try remote.otherClientWrites(Scenario.key("file"), [1])
        } _: { it in
            let full = DiskError(
                .full, attempt: "store the answer in /tmp", reason: "No space left on device")
            it.remote.refuse(.busy, attempts: "list", cause: full)
            let begin = it.mount.clock.uptime
            let error = await #expect(throws: EngineError.self) { try await it.names(in: "") }
            #expect(error?.kind == .outOfSpace)
            #expect(error?.attempt.contains(full.attempt) == true, "\(error?.attempt ?? "")")
            #expect(it.mount.clock.uptime - begin < .seconds(1))
            it.remote.refuse(nil)
            let names = try await it.names(in: "")
            #expect(names == ["file"])
        }
    }

    @Test func `that arrives in one late page serves later callers`() throws {
        try Self.run(latency: .milliseconds(1), pageEntries: 100) { scenario in
            scenario.remote.setDelay(.seconds(200), attempts: "list")
            let error = await #expect(throws: EngineError.self) {
                try await scenario.names(in: "")
            }
            #expect(error?.kind == .unreachable)
            try await scenario.wait(.seconds(150))
            let names = try await scenario.names(in: "")
            #expect(names.count == Self.count)
        }
    }

    /// Goal: an endless listing stops sending requests, and its waiters are told in time.
    @Test(arguments: [SimulatedProvider.EndlessPages.same, .empty, .invented])
    func `without an end fails, and stops`(pages: SimulatedProvider.EndlessPages) throws {
        var settings = SimulatedMountSettings()
        settings.engine.listingEntriesMax = 200
        settings.provider.latency = .milliseconds(10)...(.milliseconds(10))
        try Scenario.run(settings: settings) { remote in
            try remote.otherClientMakesDirectory(Scenario.key("d"))
            try remote.otherClientWrites(Scenario.key("d/file"), [1])
        } _: { it in
            let directory = try await it.find("d")
            it.remote.setEndlessPages(pages)
            let error = await #expect(throws: ProviderError.self) {
                try await it.engine.remote.lister.list(directory)
            }
            #expect(error?.kind == (pages == .invented ? .unsupported : .corrupt))
            let given = it.remote.endlessPagesGiven
            // The parent directory may have been listed meanwhile.
            #expect(given <= 402)
            let begin = it.mount.clock.uptime
            await #expect(throws: EngineError.self) { try await it.names(in: "d") }
            // The last attempt began in time, and takes a second.
            let waited = it.mount.clock.uptime - begin
            #expect(waited < it.engine.configuration.requestDeadline + .seconds(5))
            it.remote.setEndlessPages(nil)
            // The invented names were never the complete listing, so their removal needs no
            // confirmation; they are removed in several transactions.
            _ = try await it.names(in: "d")
            try await it.wait(.seconds(1))
            #expect(try await it.names(in: "d") == ["file"])
            #expect(try it.engine.heldDeletions(below: .root).items == 0)
        }
    }

    /// Method: the first page is slow and empty, the others are many and come within a second.
    @Test func `of small pages after an empty one is not endless`() throws {
        var settings = SimulatedMountSettings()
        settings.provider.latency = .milliseconds(1)...(.milliseconds(1))
        settings.provider.pageEntries = 1
        settings.provider.emptyPageDelay = .seconds(2)
        try Scenario.run(settings: settings) { remote in
            try remote.otherClientMakesDirectory(Scenario.key("d"))
            for number in 0..<300 {
                try remote.otherClientWrites(Scenario.key("d/file \(number)"), [1])
            }
        } _: { it in
            let names = try await it.names(in: "d")
            #expect(names.count == 300)
        }
    }

    /// Method: a page arrives every 20 s, for 1,000 s.
    @Test func `is waited for until the caller's deadline, continues, and is reported`() throws {
        var settings = SimulatedMountSettings()
        settings.provider.latency = .seconds(20)...(.seconds(20))
        settings.provider.pageEntries = 1
        try Scenario.run(settings: settings, logLines: 10_000) { remote in
            for number in 0..<50 {
                try remote.otherClientWrites(Scenario.key("file \(number)"), [UInt8(number)])
            }
        } _: { it in
            let begin = it.mount.clock.uptime
            let error = await #expect(throws: EngineError.self) { try await it.names(in: "") }
            #expect(error?.kind == .unreachable)
            let waited = it.mount.clock.uptime - begin
            #expect(waited >= it.engine.configuration.listingDeadline)
            #expect(waited < it.engine.configuration.listingDeadline + .seconds(60))
            let names = try await it.names(in: "")
            #expect(names.count == 50)
            let told = it.mount.log.lines.filter {
                $0.contains("warning: large listing in progress")
            }
            #expect(told.count == 2)
            let first = try #require(told.first)
            #expect(first.hasSuffix("directory= entries=15 seconds=300"), "\(first)")
        }
    }

    /// Goal: names from an interrupted first listing that other clients have deleted since are not
    /// shown; their local state is handled like any deletion.
    @Test func `that is cut and repeated shows the state of the second time`() throws {
        var settings = SimulatedMountSettings()
        settings.provider.pageEntries = 1
        try Scenario.run(settings: settings) { remote in
            for name in ["a", "b", "c"] { try remote.otherClientWrites(Scenario.key(name), [1]) }
            try remote.otherClientMakesDirectory(Scenario.key("d"))
        } _: { it in
            let time = try it.engine.attributes(of: .root).modified
            it.remote.setEndlessPages(.same)
            await #expect(throws: ProviderError.self) { try await it.refresh() }
            it.remote.setEndlessPages(nil)
            try it.remote.otherClientDeletes(Scenario.key("a"))
            try it.remote.otherClientDeletes(Scenario.key("d"))
            #expect(try await it.names(in: "") == ["b", "c"])
            #expect(try it.engine.attributes(of: .root).modified == time)
        }
    }

    /// Goal: too many names to process at once are shown for a while, then wait for confirmation.
    @Test func `that invented very many names turns them into deletions to be confirmed`() throws {
        var settings = SimulatedMountSettings()
        settings.engine.listingEntriesMax = 1_100
        settings.provider.latency = .milliseconds(1)...(.milliseconds(1))
        try Scenario.run(settings: settings) { remote in
            try remote.otherClientWrites(Scenario.key("file"), [1])
        } _: { it in
            it.remote.setEndlessPages(.invented)
            await #expect(throws: ProviderError.self) { try await it.refresh() }
            it.remote.setEndlessPages(nil)
            let count = try await it.names(in: "").count
            #expect(count > 1_001)
            try await it.refresh()
            #expect(try it.engine.heldDeletions(below: .root).items == count - 1)
            _ = try await it.engine.deletions.confirm()
            #expect(try await it.rest())
            #expect(try await it.names(in: "") == ["file"])
        }
    }
}

extension Engine {
    /// Merges objects as a part of a listing of the root.
    fileprivate func merge(_ objects: [RemoteObject]) throws {
        let watch = remote.activity.watch(ObjectKey([]))
        defer { remote.activity.end(watch) }
        let listing = ListingMerge(
            directory: .root, key: ObjectKey([]), activity: remote.activity, watch: watch,
            names: .exact)
        #expect(try remote.merger.merge { try $0.take(objects, listing) })
    }
}
