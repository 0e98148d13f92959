import Simulation
import Synchronization
import Testing

@testable import Engine

@Suite("Failures of the remote and of the disk")
struct FailureTests {
    @Test func `refused credentials pause all work, which resumes by itself`() throws {
        try Scenario.run { it in
            _ = try await it.names(in: "")
            it.remote.refuse(.unauthorized)
            try await it.write("a", [1])
            try await it.write("b", [2])
            try await it.wait(.seconds(300))
            let status = try it.status()
            #expect(status.reachability.isUnauthorized)
            #expect(status.pending.count == 2)
            #expect(status.pending.failed == 0, "it is not the items' fault")
            it.remote.refuse(nil)
            #expect(try await it.rest(within: .seconds(120)))
            #expect(it.remotePaths == ["a", "b"])
            #expect(try !it.status().reachability.isUnauthorized)
        }
    }

    @Test func `refused credentials are tried at once when the network changes`() throws {
        try Scenario.run { it in
            _ = try await it.names(in: "")
            it.remote.refuse(.unauthorized)
            try await it.write("a", [1])
            try await it.wait(.seconds(300))
            it.remote.refuse(nil)
            #expect(try it.status().reachability.isUnauthorized)
            it.engine.refreshes.noteNetworkChange()
            try await it.wait(.milliseconds(600))
            #expect(try !it.status().reachability.isUnauthorized)
        }
    }

    @Test func `a remote that refused the credentials and is gone then counts as unreachable`()
        throws
    {
        try Scenario.run { it in
            _ = try await it.names(in: "")
            it.remote.refuse(.unauthorized)
            try await it.write("file", [1])
            try await it.wait(.seconds(10))
            #expect(try it.status().reachability.isUnauthorized)
            it.remote.refuse(nil)
            it.remote.setReachable(false)
            try await it.wait(.seconds(90))
            #expect(try !it.status().reachability.isUnauthorized)
            #expect(try !it.status().reachability.isReachable)
            it.remote.setReachable(true)
            #expect(try await it.rest())
            #expect(it.remoteBytes("file") == [1])
        }
    }

    @Test(arguments: [ProviderError.Kind.unauthorized, .denied, .full, .unsupported])
    func `a refused change is reported, and blocks no other`(kind: ProviderError.Kind) throws {
        try Scenario.run { it in
            _ = try await it.names(in: "")
            it.remote.refuse(kind, attempts: "\"bad\"")
            try await it.write("bad", [1])
            for index in 0..<50 { try await it.write("good\(index)", [2]) }
            try await it.wait(.seconds(30))
            #expect(it.remotePaths.count == 50)
            let inode = try await it.find("bad")
            let failure = try it.engine.item(inode).failure
            #expect(failure?.isFinal == true)
            let told = try await it.engine.retrying { () throws(Blocked) in
                try it.engine.extendedAttribute(Array("user.apus.error".utf8), of: inode)
            }
            #expect(String(decoding: told, as: UTF8.self).contains("refused"))
            // The next fsync reports it to the program, once.
            let error = try #require(throws: Blocked.self) { try it.engine.synchronize(inode) }
            #expect(error.kind == failure?.kind)
            try it.engine.synchronize(inode)
            it.remote.refuse(nil)
            #expect(try await it.rest())
            #expect(it.remotePaths.contains("bad"))
        }
    }

    @Test func `a temporary failure is shown as to be retried, without a remedy`() throws {
        try Scenario.run { it in
            _ = try await it.names(in: "")
            it.remote.refuse(.corrupt, attempts: "\"bad\"")
            try await it.write("bad", [1])
            try await it.wait(.seconds(30))
            let inode = try await it.find("bad")
            let item = try it.engine.item(inode)
            #expect(item.failure?.isPassing == true)
            #expect(item.failure?.remedy == nil)
            #expect(item.retry != nil)
            #expect(try it.status().pending.failed == 0)
            let told = try await it.engine.retrying { () throws(Blocked) in
                try it.engine.extendedAttribute(Array("user.apus.error".utf8), of: inode)
            }
            #expect(String(decoding: told, as: UTF8.self).hasPrefix("waiting to retry in "))
            it.remote.refuse(nil)
            #expect(try await it.rest())
        }
    }

    /// A store that has lost its disk knows no name, and has deleted none.
    @Test func `a deletion waits for a store that has lost everything`() throws {
        try Scenario.run { it in
            for name in ["stays", "goes"] { try await it.write(name, [1]) }
            #expect(try await it.rest())
            it.remote.refuse(.missing)
            try await it.unlink("goes")
            try await it.wait(.seconds(60))
            #expect(try await it.names(in: "") == ["stays"])
            it.remote.refuse(nil)
            #expect(try await it.rest())
            try await it.refresh()
            #expect(try await it.names(in: "") == ["stays"])
            #expect(it.remotePaths == ["stays"])
        }
    }

    @Test func `pending changes are sent as soon as the remote is back`() throws {
        try Scenario.run { it in
            _ = try await it.names(in: "")
            it.remote.setReachable(false)
            try await it.write("file", [1])
            try await it.wait(.seconds(3_600))
            it.remote.setReachable(true)
            try await it.refresh()
            #expect(try await it.rest(within: .seconds(10)))
            #expect(it.remoteBytes("file") == [1])
        }
    }

    /// A store that says no for reasons that nothing there shows is not asked without end.
    @Test func `an unexplained refusal is reported, and retried with backoff`() throws {
        try Scenario.run { it in
            it.remote.refuse(.changed, attempts: "write")
            try await it.write("file", [1])
            try await it.wait(.seconds(60))
            let item = try #require(try it.status().items.first)
            #expect(item.failure?.isFinal == false && item.attempts < 20, "\(item)")
            it.remote.refuse(nil)
            #expect(try await it.rest())
            #expect(it.remoteBytes("file") == [1])
        }
    }

    @Test func `a stalled transfer is restarted`() throws {
        var settings = SimulatedMountSettings()
        settings.provider.pieceBytes = 100...100
        settings.provider.pieceDelay = .zero...(.milliseconds(1))
        try Scenario.run(settings: settings) { it in
            _ = try await it.names(in: "")
            it.remote.stand(true)
            try await it.write("a", [1, 2, 3])
            try await it.wait(.seconds(60))
            #expect(try it.engine.item(try await it.find("a")).attempts >= 1)
            it.remote.stand(false)
            #expect(try await it.rest())
            #expect(it.remotePaths == ["a"])
        }
    }

    @Test func `unanswered changes block no others`() throws {
        try Scenario.run { remote in
            for index in 0..<8 { try remote.otherClientWrites(Scenario.key("\(index)"), [1]) }
        } _: { it in
            _ = try await it.names(in: "")
            it.remote.stand(true, attempts: "delete")
            for index in 0..<8 { try await it.unlink("\(index)") }
            try await it.wait(.seconds(5))
            try await it.write("file", [1])
            try await it.wait(.seconds(30))
            #expect(it.remoteBytes("file") == [1])
            it.remote.stand(false)
        }
    }

    /// Goal: many changes that are never answered, and that a provider finishes even if they are
    /// cancelled, hold up the others for at most a minute, and end at their deadline.
    @Test func `changes that are never answered give their places back`() throws {
        var settings = SimulatedMountSettings()
        settings.provider.finishesChanges = true
        try Scenario.run(settings: settings) { remote in
            for index in 0..<60 { try remote.otherClientWrites(Scenario.key("\(index)"), [1]) }
        } _: { it in
            _ = try await it.names(in: "")
            it.remote.stand(true, attempts: "delete")
            for index in 0..<60 { try await it.unlink("\(index)") }
            try await it.wait(.seconds(30))
            try await it.write("file", [1])
            try await it.wait(.seconds(200))
            #expect(it.remoteBytes("file") == [1])
            try await it.wait(.seconds(700))
            let failures = try it.status().items.compactMap(\.failure)
            #expect(failures.contains { $0.why.contains("no answer") })
            it.remote.stand(false)
            #expect(try await it.rest(within: .seconds(2_000)))
            #expect(it.remotePaths == ["file"])
        }
    }

    @Test func `a transfer that waits for its turn is not restarted`() throws {
        var settings = SimulatedMountSettings()
        settings.provider.turnDelay = .seconds(40)
        try Scenario.run(settings: settings) { remote in
            try remote.otherClientWrites(Scenario.key("there"), [4, 5])
        } _: { it in
            #expect(try await it.read("there") == [4, 5])
            try await it.write("here", [1, 2, 3])
            try await it.wait(.seconds(35))
            #expect(it.remotePaths == ["there"], "it has not waited long enough yet")
            try await it.wait(.seconds(10))
            #expect(it.remotePaths == ["here", "there"])
        }
    }

    /// Method: the transfer takes longer than any other call may take.
    @Test func `a transfer over a slow link is not restarted`() throws {
        var settings = SimulatedMountSettings()
        settings.provider.pieceBytes = 1...1
        settings.provider.pieceDelay = .seconds(20)...(.seconds(20))
        try Scenario.run(settings: settings) { it in
            _ = try await it.names(in: "")
            try await it.write("file", [UInt8](repeating: 1, count: 400))
            #expect(try await it.rest(within: .seconds(10_000)))
            #expect(it.remote.bytesReceived == 400)
        }
    }

    @Test func `a request whose task is cancelled at the deadline is not interrupted`() throws {
        try Scenario.run { remote in
            try remote.otherClientWrites(Scenario.key("a"), [1, 2, 3])
        } _: { it in
            let inode = try await it.find("a")
            it.remote.stand(true, attempts: "read")
            let start = it.mount.clock.uptime
            let cancelled = Signal()
            let error = try await withThrowingTaskGroup(of: EngineError?.self) { group in
                group.addTask {
                    do throws(EngineError) {
                        _ = try await it.engine.retrying(cancel: { cancelled.notify() }) {
                            () throws(Blocked) in try it.engine.read(inode, at: 0, length: 3)
                        }
                        return nil
                    } catch {
                        return error
                    }
                }
                await cancelled.wait(after: 0)
                group.cancelAll()
                return try await group.next() ?? nil
            }
            #expect(error?.kind == .unreachable)
            #expect(it.mount.clock.uptime - start == .seconds(60))
            it.remote.stand(false)
        }
    }

    @Test func `a request ends at its deadline without an answer`() throws {
        try Scenario.run { remote in
            try remote.otherClientWrites(Scenario.key("a"), [1, 2, 3])
        } _: { it in
            _ = try await it.names(in: "")
            it.remote.stand(true, attempts: "read")
            let start = it.mount.clock.uptime
            await #expect(throws: EngineError.self) { _ = try await it.read("a") }
            #expect(it.mount.clock.uptime - start <= .seconds(61))
            it.remote.stand(false)
            #expect(try await it.read("a") == [1, 2, 3])
        }
    }

    @Test func `readers and fillers respect the delay that a store asks for`() throws {
        try Scenario.run { remote in
            try remote.otherClientWrites(
                Scenario.key("a"), [UInt8](repeating: 7, count: 3 << 20))
        } _: { it in
            _ = try await it.names(in: "")
            it.remote.refuse(.busy, attempts: "\"a\"", retryAfter: .seconds(40))
            async let one = it.read("a").count
            async let other = it.read("a").count
            try await it.wait(.seconds(39))
            let given = it.remote.refusalsGiven
            #expect((1...3).contains(given), "those that were under way at once: \(given)")
            it.remote.refuse(nil)
            #expect(try await one == 3 << 20)
            #expect(try await other == 3 << 20)
        }
    }

    @Test func `listings respect the delay that a store asks for`() throws {
        try Scenario.run { remote in
            try remote.otherClientMakesDirectory(Scenario.key("d"))
        } _: { it in
            _ = try await it.find("d")
            it.remote.refuse(.busy, attempts: "\"d\"", retryAfter: .seconds(40))
            let start = it.mount.clock.uptime
            async let names = it.names(in: "d")
            try await it.wait(.seconds(20))
            #expect(it.remote.refusalsGiven == 1)
            it.remote.refuse(nil)
            #expect(try await names.isEmpty)
            #expect(it.mount.clock.uptime - start >= .seconds(40))
        }
    }

    @Test func `a request that cannot wait that long fails at once, with the reason`() throws {
        try Scenario.run { remote in
            try remote.otherClientWrites(Scenario.key("a"), [1, 2, 3])
        } _: { it in
            _ = try await it.names(in: "")
            it.remote.refuse(.busy, attempts: "\"a\"", retryAfter: .seconds(90))
            let start = it.mount.clock.uptime
            let error = try await #require(throws: EngineError.self) { _ = try await it.read("a") }
            #expect(error.kind == .unreachable && "\(error)".contains("it is refused"))
            #expect(it.mount.clock.uptime - start < .seconds(5))
            it.remote.refuse(nil)
            try await it.wait(.seconds(60))
            #expect(try await it.read("a") == [1, 2, 3], "nobody is kept from it for longer")
        }
    }

    @Test(arguments: [false, true])
    func `a full disk or quota evicts clean files, then refuses, then recovers`(
        isQuota: Bool
    ) throws {
        var settings = SimulatedMountSettings()
        settings.diskBytes = 1 << 20
        settings.isDiskQuota = isQuota
        try Scenario.run(settings: settings) { it in
            _ = try await it.names(in: "")
            let piece = [UInt8](repeating: 7, count: 100 << 10)
            for index in 0..<8 { try await it.write("clean\(index)", piece) }
            #expect(try await it.rest())
            // There is no space for these beside the others, which are on the remote.
            for index in 0..<6 { try await it.write("more\(index)", piece) }
            #expect(try await it.read("more0") == piece)
            #expect(try await it.rest())
            // Nor for these, which are fetched again.
            for index in 0..<8 { #expect(try await it.read("clean\(index)") == piece) }
            for index in 0..<6 { #expect(try await it.read("more\(index)") == piece) }
            it.remote.setReachable(false)
            var refused = 0
            for index in 0..<12 {
                do {
                    try await it.write("dirty\(index)", piece)
                } catch let error as EngineError where error.kind == .outOfSpace {
                    refused += 1
                }
            }
            #expect((1..<12).contains(refused))
            it.remote.setReachable(true)
            #expect(try await it.rest())
            try await it.write("after", piece)
            #expect(try await it.rest())
            #expect(try await it.read("after") == piece)
            let whole = it.remotePaths.count { it.remoteBytes($0) == piece }
            #expect(whole == 8 + 6 + (12 - refused) + 1, "acknowledged files are complete")
        }
    }

    /// Room for the database that a quota does not give back.
    private final class LostBallast: Ballast {
        let isBack = Mutex(false)
        let tries = Mutex(0)

        var isWhole: Bool { isBack.withLock { $0 } }

        func isDiskFull() -> Bool { !isWhole }

        func giveUp() -> Bool { false }

        func restore() -> Bool {
            tries.withLock { $0 += 1 }
            return isWhole
        }
    }

    @Test func `refused writes do not restore the database's reserve each time`() throws {
        let ballast = LostBallast()
        var settings = SimulatedMountSettings()
        settings.ballast = ballast
        ballast.isBack.withLock { $0 = true }
        try Scenario.run(settings: settings) { it in
            _ = try await it.names(in: "")
            ballast.isBack.withLock { $0 = false }
            ballast.tries.withLock { $0 = 0 }
            for index in 0..<50 {
                let error = await #expect(throws: EngineError.self) {
                    try await it.write("refused\(index)", [1])
                }
                #expect(error?.kind == .outOfSpace)
            }
            #expect(ballast.tries.withLock { $0 } < 10)
            ballast.isBack.withLock { $0 = true }
            try await it.wait(.seconds(1))
            try await it.write("taken", [1])
            #expect(try await it.rest())
            #expect(it.remotePaths == ["taken"])
        }
    }

    @Test func `a remote of unknown size shows much space, and a full disk refuses`() throws {
        var settings = SimulatedMountSettings()
        settings.diskBytes = 1 << 20
        settings.provider.tellsSpace = false
        try Scenario.run(settings: settings) { it in
            _ = try await it.names(in: "")
            #expect(it.engine.space.availableBytes == 1 << 50)
            it.remote.setReachable(false)
            let piece = [UInt8](repeating: 7, count: 100 << 10)
            var refused = 0
            for index in 0..<12 {
                do {
                    try await it.write("file\(index)", piece)
                } catch let error as EngineError where error.kind == .outOfSpace {
                    refused += 1
                }
            }
            #expect((1..<12).contains(refused))
            #expect(it.engine.space.availableBytes == 1 << 50)
        }
    }

    @Test func `a remote that reports its space is asked at the start`() throws {
        var settings = SimulatedMountSettings()
        settings.provider.capacityBytes = 1 << 30
        try Scenario.run(settings: settings) { it in
            for _ in 0..<1_000 where it.engine.space == .unknown {
                try await it.wait(.milliseconds(10))
            }
            #expect(it.engine.space.totalBytes == 1 << 30, "nobody has looked into the mount")
        }
    }
}

extension Blocked {
    fileprivate var kind: EngineError.Kind? {
        if case .failure(let error) = self { error.kind } else { nil }
    }
}
