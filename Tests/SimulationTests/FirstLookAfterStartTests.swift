import Simulation
import Testing

@testable import Engine

/// Goal: a name that another client has made while nothing was mounted is found by the first program that
/// asks for it, and programs never wait long for that.
@Suite("The first look into a known directory after the start") struct FirstLookAfterStartTests {
    private static func run(
        latency: Duration, altogether budget: Duration = .seconds(2),
        _ body: @escaping @Sendable (Scenario) async throws -> Void
    ) throws {
        var settings = SimulatedMountSettings()
        settings.engine.firstLookMax = .seconds(1)
        settings.engine.firstLooksMax = budget
        settings.engine.refreshInterval = .seconds(3_600)
        settings.provider.latency = latency...latency
        try Scenario.run(settings: settings) { remote in
            for number in 0..<40 {
                try remote.otherClientMakesDirectory(Scenario.key("d\(number)"))
            }
        } _: { it in
            for number in 0..<40 { #expect(try await it.names(in: "d\(number)") == []) }
            await it.mount.kill()
            try it.mount.start()
            for number in 0..<40 {
                try it.remote.otherClientWrites(Scenario.key("d\(number)/new"), [1])
            }
            try await body(it)
        }
    }

    @Test func `finds a new name, and a second look does not wait`() throws {
        try Self.run(latency: .milliseconds(100)) { it in
            #expect(try await it.read("d0/new") == [1])
            #expect(try await it.names(in: "d1") == ["new"])
            try it.remote.otherClientWrites(Scenario.key("d1/newer"), [1])
            #expect(try await it.names(in: "d1") == ["new"])
        }
    }

    /// Method: a listing takes longer than a look may wait.
    @Test func `shows the known names if the remote is slow, and later the new ones`() throws {
        try Self.run(latency: .seconds(3)) { it in
            let start = it.engine.clock.uptime
            #expect(try await it.names(in: "d0") == [])
            #expect(it.engine.clock.uptime - start <= .milliseconds(1_001))
            try await it.wait(.seconds(10))
            #expect(try await it.names(in: "d0") == ["new"])
        }
    }

    @Test func `delays a walk by little more than two seconds`() throws {
        try Self.run(latency: .milliseconds(500)) { it in
            let start = it.engine.clock.uptime
            for number in 0..<40 { _ = try await it.names(in: "d\(number)") }
            #expect(it.engine.clock.uptime - start < .seconds(4))
        }
    }

    @Test func `does not wait for a remote that has not answered the mount`() throws {
        try Self.run(latency: .seconds(3), altogether: .zero) { it in
            let start = it.engine.clock.uptime
            for number in 0..<40 {
                let names = try await it.names(in: "d\(number)")
                #expect(names == [])
            }
            #expect(it.engine.clock.uptime == start)
        }
    }

    @Test func `does not wait for a remote that does not answer`() throws {
        try Self.run(latency: .milliseconds(100)) { it in
            it.remote.setReachable(false)
            _ = try await it.names(in: "d0")
            try await it.wait(.seconds(10))
            let start = it.engine.clock.uptime
            for number in 1..<40 { #expect(try await it.names(in: "d\(number)") == []) }
            #expect(it.engine.clock.uptime == start)
        }
    }

    @Test func `puts no name below a file, though the remote has a directory there by now`() throws
    {
        try Scenario.run { remote in
            try remote.otherClientWrites(Scenario.key("a"), [1])
        } _: { it in
            let file = try await it.find("a")
            try it.remote.otherClientDeletes(Scenario.key("a"))
            try it.remote.otherClientMakesDirectory(Scenario.key("a"))
            try it.remote.otherClientWrites(Scenario.key("a/b"), [1])
            await #expect(throws: Blocked.self) { try await it.engine.remote.lister.list(file) }
            let name = try it.engine.store.read {
                try $0.dirent(FileName(stored: Array("b".utf8)), in: file)
            }
            #expect(name == nil)
            await it.engine.remote.lister.refreshQuietly(.root)
            #expect(try await it.names(in: "a") == ["b"])
        }
    }
}
