import Simulation
import Synchronization
import Testing

@testable import Engine

@Suite("A remote out of reach") struct OutageTests {
    private static func run(
        offline: OfflineBehavior = .fail,
        _ body: @escaping @Sendable (Scenario) async throws -> Void
    ) throws {
        var settings = SimulatedMountSettings()
        settings.engine.offline = offline
        try Scenario.run(settings: settings) { remote in
            for name in ["a", "b", "c"] {
                try remote.otherClientWrites(Scenario.key(name), [1, 2, 3])
            }
        } _: { it in
            #expect(try await it.names(in: "").count == 3)
            try await body(it)
        }
    }

    @Test func `that refuses connections fails a read within a few seconds`() throws {
        try Self.run { it in
            it.remote.setReachable(false)
            let error = try await it.failure(toRead: "a", within: .seconds(6))
            #expect(error.kind == .unreachable)
        }
    }

    /// Method: the changes have failed so often that they are due only in some minutes.
    @Test(arguments: [false, true])
    func `that ends soon after a start keeps changes waiting no longer`(endsBefore: Bool) throws {
        try Scenario.run { it in
            #expect(try await it.names(in: "") == [])
            it.remote.setReachable(false)
            try await it.write("a", [1])
            try await it.wait(.seconds(1_800))
            await it.mount.kill()
            if endsBefore { it.remote.setReachable(true) }
            try it.mount.start()
            if !endsBefore {
                try await it.wait(.seconds(3))
                it.remote.setReachable(true)
            }
            _ = try await it.names(in: "")
            #expect(try await it.rest(within: .seconds(20)))
            #expect(it.remoteBytes("a") == [1])
        }
    }

    /// Goal: the log of a day without a connection still shows the days before.
    @Test func `has one warning, however many changes wait for its end`() throws {
        try Scenario.run(logLines: 10_000) { it in
            #expect(try await it.names(in: "") == [])
            it.remote.setReachable(false)
            try await it.write("first", [1])
            try await it.wait(.seconds(60))
            let before = it.mount.log.lines.count
            for number in 0..<20 { try await it.write("\(number)", [1]) }
            try await it.wait(.seconds(600))
            let failures = it.mount.log.lines.dropFirst(before)
                .filter { $0.contains("synchronisation failed") }
            #expect(failures.count >= 20)
            #expect(failures.allSatisfy { $0.contains("debug: ") }, "\(failures.first ?? "")")
            it.remote.setReachable(true)
            #expect(try await it.rest(within: .seconds(60)))
        }
    }

    @Test(arguments: 4..<14)
    func `of some seconds keeps no change waiting for minutes`(seconds: Int) throws {
        try Scenario.run { it in
            #expect(try await it.names(in: "") == [])
            it.remote.setReachable(false)
            try await it.write("a", [1])
            try await it.wait(.seconds(seconds))
            it.remote.setReachable(true)
            #expect(try await it.rest(within: .seconds(30)))
            #expect(it.remoteBytes("a") == [1])
        }
    }

    @Test func `is not one that starts anew`() throws {
        try Self.run { it in
            it.remote.setReachable(false)
            async let bytes = it.read("a")
            try await it.wait(.seconds(4))
            it.remote.setReachable(true)
            #expect(try await bytes == [1, 2, 3])
        }
    }

    @Test func `that does not answer fails a read within a few seconds`() throws {
        try Self.run { it in
            it.remote.stand(true)
            let error = try await it.failure(toRead: "a", within: .seconds(10))
            #expect(error.kind == .unreachable)
        }
    }

    @Test(arguments: [false, true])
    func `once known, fails reads and listings at once, and not what is local`(
        isSilent: Bool
    ) throws {
        try Self.run { it in
            #expect(try await it.read("b") == [1, 2, 3])
            if isSilent { it.remote.stand(true) } else { it.remote.setReachable(false) }
            _ = try await it.failure(toRead: "a", within: .seconds(10))
            try await it.wait(.seconds(6))
            let asked = it.mount.clock.uptime
            _ = try await it.failure(toRead: "a", within: .milliseconds(100))
            _ = try await it.failure(toRead: "c", within: .milliseconds(100))
            #expect(try await it.read("b") == [1, 2, 3])
            try await it.write("new", [4])
            #expect(it.mount.clock.uptime - asked < .seconds(1))
        }
    }

    @Test(arguments: [false, true])
    func `is used again within five seconds of its return`(isSilent: Bool) throws {
        try Self.run { it in
            if isSilent { it.remote.stand(true) } else { it.remote.setReachable(false) }
            _ = try await it.failure(toRead: "a", within: .seconds(10))
            try await it.wait(.seconds(3_600))
            if isSilent { it.remote.stand(false) } else { it.remote.setReachable(true) }
            try await it.wait(.seconds(5))
            #expect(try await it.read("a") == [1, 2, 3])
            #expect(it.engine.outage == nil)
        }
    }

    @Test func `delays requests until it is back, if they wait`() throws {
        try Self.run(offline: .wait) { it in
            it.remote.setReachable(false)
            async let bytes = it.read("a")
            async let later = it.read("b")
            try await it.wait(.seconds(3_600))
            it.remote.setReachable(true)
            let back = it.mount.clock.uptime
            #expect(try await bytes == [1, 2, 3])
            #expect(try await later == [1, 2, 3])
            #expect(it.mount.clock.uptime - back < .seconds(5))
        }
    }

    @Test func `interrupts a request that waits, with its task`() throws {
        try Self.run(offline: .wait) { it in
            it.remote.setReachable(false)
            let inode = try await it.find("a")
            let error = try await withThrowingTaskGroup(of: EngineError?.self) { group in
                group.addTask {
                    do throws(EngineError) {
                        _ = try await it.engine.retrying { () throws(Blocked) in
                            try it.engine.read(inode, at: 0, length: 3)
                        }
                        return nil
                    } catch {
                        return error
                    }
                }
                try await it.wait(.seconds(600))
                group.cancelAll()
                return try await group.next() ?? nil
            }
            #expect(error?.kind == .interrupted)
        }
    }

    /// Method: an answer takes longer than a quick probe may take, from the first one on.
    @Test func `is not one whose answers take long`() throws {
        var settings = SimulatedMountSettings()
        settings.provider.latency = .seconds(6)...(.seconds(6))
        try Scenario.run(settings: settings) { remote in
            try remote.otherClientWrites(Scenario.key("a"), [1, 2, 3])
        } _: { it in
            #expect(try await it.names(in: "") == ["a"])
            #expect(try await it.read("a") == [1, 2, 3])
            try await it.write("b", [4])
            #expect(try await it.rest(within: .seconds(60)))
            #expect(it.engine.outage == nil)
        }
    }

    /// A store that lists a huge directory, or merges a huge upload, says nothing meanwhile.
    @Test func `is not what a slow answer means`() throws {
        try Self.run { it in
            it.remote.stand(true, attempts: "of \"a\"")
            async let slow = it.read("a")
            try await it.wait(.seconds(20))
            #expect(it.engine.outage == nil)
            #expect(try await it.read("b") == [1, 2, 3])
            it.remote.stand(false)
            #expect(try await slow == [1, 2, 3])
        }
    }

    @Test func `is not one that refuses requests as too many`() throws {
        try Self.run { it in
            it.remote.refuse(.busy, retryAfter: .seconds(10))
            async let bytes = it.read("a")
            for _ in 0..<45 {
                try await it.wait(.seconds(1))
                #expect(it.reachability.isReachable)
            }
            it.remote.refuse(nil)
            #expect(try await bytes == [1, 2, 3])
        }
    }

    /// Goal: no upload is lost, doubled or sent in another order than it was made.
    @Test(arguments: [false, true])
    func `gets all changes once it is back, in their order`(isSilent: Bool) throws {
        try Self.run { it in
            #expect(try await it.read("a") == [1, 2, 3])
            try await it.write("before", [1])
            #expect(try await it.rest())
            if isSilent { it.remote.stand(true) } else { it.remote.setReachable(false) }
            try await it.makeDirectory("d")
            for number in 0..<10 { try await it.write("d/\(number)", [UInt8(number)]) }
            for version: UInt8 in 2...4 {
                try await it.write("before", [version])
                try await it.wait(.seconds(200))
                #expect(it.engine.outage != nil)
            }
            try await it.rename("a", to: "d/a")
            try await it.unlink("b")
            if isSilent { it.remote.stand(false) } else { it.remote.setReachable(true) }
            #expect(try await it.rest(within: .seconds(7_200)))
            let versions = it.remote.versions(of: Scenario.key("before")).map(\.bytes)
            #expect(versions == [[1], [4]])
            #expect(it.remote.snapshot().keys.contains(Scenario.key("d/a")))
            for number in 0..<10 {
                #expect(it.remote.versions(of: Scenario.key("d/\(number)")).count == 1)
            }
            #expect(!it.remote.snapshot().keys.contains(Scenario.key("b")))
        }
    }

    /// Method: the first silent call was answered by probes for long.
    @Test func `counts from the first probe without an answer`() throws {
        try Self.run { it in
            it.remote.stand(true, attempts: "of \"a\"")
            async let slow = it.read("a")
            try await it.wait(.seconds(25))
            it.remote.stand(true)
            while it.reachability.isReachable { try await it.wait(.milliseconds(10)) }
            let lostAt = try #require(it.reachability.lostAt)
            #expect(it.mount.clock.uptime - lostAt < .milliseconds(3_020), "the time of a probe")
            #expect(it.engine.outage == nil)
            it.remote.stand(false)
            try await it.wait(.seconds(4))
            #expect(it.engine.outage == nil)
            #expect(try await slow == [1, 2, 3])
        }
    }

    /// Method: a store with one thread, which answers nothing else while it lists a directory.
    @Test func `does not end a listing that is slow`() throws {
        try Self.run { it in
            try it.remote.otherClientMakesDirectory(Scenario.key("d"))
            try it.remote.otherClientWrites(Scenario.key("d/file"), [1])
            try await it.refresh()
            it.remote.setDelay(.seconds(40))
            async let names = it.names(in: "d")
            try await it.wait(.seconds(20))
            #expect(it.engine.outage != nil)
            try await it.wait(.seconds(10))
            it.remote.setDelay(nil)
            #expect(try await names == ["file"])
            #expect(it.engine.outage == nil)
        }
    }

    /// Method: a store with one connection, for which a patient probe waits in vain too.
    @Test func `does not end a listing of minutes`() throws {
        try Self.run { it in
            try it.remote.otherClientMakesDirectory(Scenario.key("d"))
            try it.remote.otherClientWrites(Scenario.key("d/file"), [1])
            try await it.refresh()
            let directory = try await it.find("d")
            it.remote.setDelay(.seconds(200))
            async let first = try? it.names(in: "d")
            try await it.wait(.seconds(150))
            #expect(it.engine.outage != nil)
            #expect(it.engine.remote.lister.listings.flight(of: directory) != nil)
            it.remote.setDelay(.zero)
            try await it.wait(.seconds(55))
            #expect(it.engine.outage == nil)
            #expect(it.engine.remote.lister.listings.flight(of: directory) == nil)
            it.remote.stand(true)
            #expect(try await it.names(in: "d") == ["file"], "it is known")
            it.remote.stand(false)
            _ = await first
        }
    }

    /// Method: a gateway answers each request at once with a page of its own (502).
    @Test func `is one behind a gateway that says so in many bytes`() throws {
        try Self.run { it in
            it.remote.setReachable(false)
            for _ in 0..<10 {
                try? await it.engine.remote.gate.around(.probe) {
                    () async throws(ProviderError) in
                    SignOfLife.note?()
                    throw ProviderError(.unreachable, "status 502")
                }
                try await it.wait(.seconds(1))
            }
            #expect(it.engine.outage != nil)
        }
    }

    /// Method: after a change of the network path, idle connections are dead.
    @Test func `is not one behind dead idle connections`() throws {
        try Self.run { it in
            it.remote.setDelay(.seconds(20), attempts: "of \"a\"")
            it.remote.stand(true, attempts: "idle connection")
            async let slow = it.read("a")
            for _ in 0..<19 {
                try await it.wait(.seconds(1))
                #expect(it.engine.outage == nil)
            }
            #expect(try await it.read("b") == [1, 2, 3])
            #expect(try await slow == [1, 2, 3])
        }
    }

    /// Method: the clock jumps, as `CLOCK_BOOTTIME` does.
    @Test func `has some time to come back after this machine was suspended`() throws {
        try Self.run { it in
            it.remote.setReachable(false)
            let lost = it.mount.clock.uptime
            async let before = try? it.read("a")
            try await it.wait(.seconds(4))
            #expect(!it.reachability.isReachable)
            it.mount.clock.advance(to: lost + .seconds(3_600))
            async let bytes = it.read("b")
            try await it.wait(.seconds(3))
            #expect(it.engine.outage == nil)
            it.remote.setReachable(true)
            #expect(try await bytes == [1, 2, 3])
            _ = await before
        }
    }

    @Test func `fails a listing at once, also if another one is in progress`() throws {
        try Self.run { it in
            try it.remote.otherClientMakesDirectory(Scenario.key("d"))
            try await it.refresh()
            it.remote.stand(true)
            async let first = try? it.names(in: "d")
            try await it.wait(.seconds(20))
            let begin = it.mount.clock.uptime
            await #expect(throws: EngineError.self) { try await it.names(in: "d") }
            #expect(it.mount.clock.uptime - begin < .milliseconds(100))
            #expect(await first == nil)
        }
    }

    @Test func `is not one that sends a long answer`() throws {
        var settings = SimulatedMountSettings()
        settings.provider.listingSigns = (.seconds(1), 50)
        try Scenario.run(settings: settings) { remote in
            try remote.otherClientWrites(Scenario.key("a"), [1])
        } _: { it in
            it.remote.stand(true, attempts: "probe")
            async let names = it.names(in: "")
            for _ in 0..<48 {
                try await it.wait(.seconds(1))
                #expect(it.reachability.isReachable)
            }
            #expect(try await names == ["a"])
        }
    }

    /// Method: probes are refused at once, as by a server with a limit of connections.
    @Test func `is not one that refuses probes while it sends a long answer`() throws {
        var settings = SimulatedMountSettings()
        settings.provider.listingSigns = (.seconds(1), 50)
        try Scenario.run(settings: settings) { remote in
            try remote.otherClientWrites(Scenario.key("a"), [1])
        } _: { it in
            async let names = it.names(in: "")
            try await it.wait(.seconds(5))
            it.remote.refuse(.unreachable, attempts: "probe")
            await #expect(throws: ProviderError.self) {
                try await it.engine.remote.gate.probe()
            }
            for _ in 0..<20 {
                try await it.wait(.seconds(1))
                #expect(!it.reachability.isReachable)
                #expect(it.engine.outage == nil)
            }
            #expect(try await names == ["a"])
        }
    }

    /// Method: bytes are reported every ten seconds, and a probe waits behind them for 20 s.
    @Test func `is not one at the end of a slow line that is full`() throws {
        var settings = SimulatedMountSettings()
        settings.provider.pieceBytes = 20_000...20_000
        settings.provider.pieceDelay = .seconds(10)...(.seconds(10))
        try Scenario.run(settings: settings) { it in
            _ = try await it.names(in: "")
            it.remote.setDelay(.seconds(20), attempts: "probe")
            try await it.write("a", [UInt8](repeating: 1, count: 200_000))
            for _ in 0..<100 {
                try await it.wait(.seconds(1))
                #expect(it.reachability.isReachable)
            }
            #expect(try await it.rest())
        }
    }

    /// Method: all pages after the first come from this machine, for ten minutes.
    /// With the second seed, the last page arrives at a deadline of the request that waits for it.
    @Test(arguments: [UInt64(1), 26])
    func `has no effect on pages that are here already, nor they on it`(seed: UInt64) throws {
        var settings = SimulatedMountSettings()
        settings.provider.pageEntries = 1
        settings.provider.spoolsListings = true
        settings.provider.spoolDelay = .seconds(20)
        try Scenario.run(seed: seed, settings: settings) { remote in
            for number in 0..<30 {
                try remote.otherClientWrites(Scenario.key("\(number)"), [1])
            }
        } _: { it in
            async let names = it.names(in: "")
            try await it.wait(.seconds(30))
            it.remote.setReachable(false)
            await #expect(throws: ProviderError.self) { try await it.engine.remote.gate.space() }
            try await it.wait(.seconds(8))
            for _ in 0..<500 {
                #expect(it.engine.outage != nil)
                try await it.wait(.seconds(1))
            }
            #expect(try await names.count == 30)
        }
    }

    @Test func `is not what one failing file means`() throws {
        try Self.run { it in
            it.remote.refuse(.unreachable, attempts: "\"a\"")
            async let failing = it.read("a")
            try await it.wait(.seconds(20))
            #expect(it.engine.outage == nil)
            #expect(try await it.read("b") == [1, 2, 3])
            it.remote.refuse(nil)
            #expect(try await failing == [1, 2, 3], "it is retried for a minute")
        }
    }
}

extension Scenario {
    fileprivate var reachability: Reachability { engine.remote.gate.reachability.withLock { $0 } }

    /// Reads a file, which has to fail in time.
    fileprivate func failure(
        toRead path: String, within limit: Duration
    ) async throws -> EngineError {
        let start = mount.clock.uptime
        let inode = try await find(path)
        let error = try await #require(throws: EngineError.self) {
            _ = try await engine.retrying { () throws(Blocked) in
                try engine.read(inode, at: 0, length: 3)
            }
        }
        #expect(mount.clock.uptime - start <= limit)
        return error
    }
}
