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

    private static func preparing() -> SimulatedMountSettings {
        var settings = SimulatedMountSettings()
        settings.provider.latency = .seconds(1)...(.seconds(1))
        settings.provider.preparesForChanges = true
        settings.engine.settleTime = .seconds(5)
        return settings
    }

    /// Method: the preparation takes a second, and so does an upload.
    @Test func `a store prepares for changes while the first one settles`() throws {
        try Scenario.run(settings: Self.preparing()) { it in
            try await it.wait(.seconds(10))
            #expect(it.remote.preparesForChanges, "a mount that only reads does not need it")
            try await it.write("file", [1])
            try await it.wait(.seconds(2))
            #expect(!it.remote.preparesForChanges)
            #expect(it.remotePaths.isEmpty)
            try await it.wait(.milliseconds(4_500))
            #expect(it.remoteBytes("file") == [1])
        }
    }

    @Test func `a failed preparation is repeated by the change itself`() throws {
        try Scenario.run(settings: Self.preparing()) { it in
            it.remote.refuse(.busy, attempts: "prepare")
            try await it.write("file", [1])
            try await it.wait(.seconds(4))
            #expect(it.remote.refusalsGiven == 1)
            it.remote.refuse(nil)
            try await it.wait(.seconds(4))
            #expect(it.remoteBytes("file") == [1])
            #expect(!it.remote.preparesForChanges)
        }
    }

    @Test func `a store prepares for no change by others, and for none while it is out of reach`()
        throws
    {
        try Scenario.run(settings: Self.preparing()) { remote in
            try remote.otherClientWrites(Scenario.key("other"), [1])
        } _: { it in
            #expect(try await it.names(in: "").count == 1)
            try it.remote.otherClientDeletes(Scenario.key("other"))
            try await it.refresh()
            try await it.wait(.seconds(10))
            #expect(try await it.names(in: "").isEmpty)
            #expect(it.remote.preparesForChanges)
            it.remote.setReachable(false)
            try await it.wait(.seconds(300))
            it.remote.refuse(.busy, attempts: "prepare")
            try await it.write("file", [1])
            try await it.wait(.seconds(10))
            #expect(it.remote.preparesForChanges && it.remote.refusalsGiven == 0)
            it.remote.refuse(nil)
            it.remote.setReachable(true)
            try await it.wait(.seconds(300))
            #expect(it.remoteBytes("file") == [1])
        }
    }

    /// Method: a file each 50 ms for eight seconds; each is due at once.
    @Test(arguments: [false, true])
    func `uploads wait for the end of a burst of new files, five seconds at most`(
        isSynced: Bool
    ) throws {
        var settings = SimulatedMountSettings()
        settings.provider.latency = .zero...(.zero)
        settings.engine.settleTime = .zero
        try Scenario.run(settings: settings) { it in
            var uploaded: [Int] = []
            for index in 0..<160 {
                try await it.write("file \(index)", [1])
                if isSynced, index == 30 { try it.engine.hasten(below: [.root]) }
                try await it.wait(.milliseconds(50))
                uploaded.append(it.remotePaths.count)
            }
            let waiting = ChangeBurst.changesMin..<100
            #expect(uploaded[10] > 5, "few files are no burst")
            if isSynced {
                #expect(uploaded[29] < 25)
                #expect(uploaded[32] > 25, "a user waits for them")
                #expect(uploaded[99] > 95, "nor is there another wait in this burst")
            } else {
                #expect(Set(uploaded[waiting.dropLast(2)]).count == 1)
            }
            #expect(uploaded[159] > 140, "a long burst does not hold them up")
            try await it.wait(.milliseconds(200))
            #expect(it.remotePaths.count == 160)
        }
    }

    enum Change: CaseIterable {
        case removal, renaming, attributes, extendedAttributes, directory
    }

    /// Method: a change each 50 ms, in the middle of which another file is edited.
    @Test(arguments: Change.allCases)
    func `uploads wait for the end of a burst of other changes`(change: Change) throws {
        var settings = SimulatedMountSettings()
        settings.provider.latency = .zero...(.zero)
        settings.engine.settleTime = .zero
        try Scenario.run(settings: settings) { it in
            let paths = (0..<2 * ChangeBurst.changesMin).map { "file \($0)" }
            for path in paths + ["edited"] { try await it.write(path, [1]) }
            try await it.wait(.seconds(300))
            #expect(it.remotePaths.count == paths.count + 1)
            for (index, path) in paths.enumerated() {
                switch change {
                case .removal: try await it.unlink(path)
                case .renaming: try await it.rename(path, to: "new \(path)")
                case .directory: try await it.makeDirectory("new \(path)")
                case .extendedAttributes:
                    try it.engine.setExtendedAttribute(
                        Array("user.tag".utf8), to: [1], of: try await it.find(path))
                case .attributes:
                    var attributes = AttributeChange()
                    attributes.mode = 0o600
                    _ = try it.engine.setAttributes(of: try await it.find(path), to: attributes)
                }
                if index == ChangeBurst.changesMin { try await it.write("edited", [2]) }
                try await it.wait(.milliseconds(50))
            }
            #expect(it.remoteBytes("edited") == [1])
            try await it.wait(.milliseconds(100))
            #expect(it.remoteBytes("edited") == [2])
        }
    }

    @Test func `a burst ends with a pause`() {
        var burst = ChangeBurst()
        for index in 0..<ChangeBurst.changesMin {
            #expect(burst.holdEnd(at: .milliseconds(index)) == nil)
            burst.note(at: .milliseconds(index))
        }
        let last = Duration.milliseconds(ChangeBurst.changesMin - 1)
        #expect(burst.holdEnd(at: last) == last + ChangeBurst.pauseMax)
        #expect(burst.holdEnd(at: last + ChangeBurst.pauseMax) == nil)
        burst.note(at: last + ChangeBurst.pauseMax)
        #expect(burst.holdEnd(at: last + ChangeBurst.pauseMax) == nil)
    }

    /// Method: a change each millisecond, with a pause after each burst, for 100 seconds.
    @Test(arguments: [(20, 101), (30, 150), (100, 200), (4_000, 101), (5_000, 1_000)])
    func `uploads have a third of the time, however changes are spread`(length: Int, pause: Int) {
        var burst = ChangeBurst()
        var held = 0
        for time in 0..<100_000 {
            let now = Duration.milliseconds(time)
            if time % (length + pause) < length { burst.note(at: now) }
            if burst.holdEnd(at: now) != nil { held += 1 }
        }
        #expect((1_000...66_667 + 5_000).contains(held))
    }

    @Test func `after a long burst uploads wait again once there was a pause`() {
        var burst = ChangeBurst()
        func change(from start: Int, to end: Int) {
            for time in start..<end { burst.note(at: .milliseconds(time)) }
        }
        change(from: 0, to: 6_000)
        #expect(burst.holdEnd(at: .milliseconds(6_000)) == nil)
        change(from: 7_000, to: 8_900)
        #expect(burst.holdEnd(at: .milliseconds(8_900)) != nil)
        change(from: 8_900, to: 9_100)
        #expect(burst.holdEnd(at: .milliseconds(9_100)) == nil)
    }

    @Test func `changes here and there leave all of the wait to a burst`() {
        var burst = ChangeBurst()
        for time in 0..<20 { burst.note(at: .milliseconds(900 * time)) }
        for time in 0..<4_900 { burst.note(at: .milliseconds(18_000 + time)) }
        #expect(burst.holdEnd(at: .milliseconds(22_900)) != nil)
    }

    @Test func `a burst goes on without a wait once a user waits for the uploads`() {
        var burst = ChangeBurst()
        for time in 0..<100 { burst.note(at: .milliseconds(time)) }
        #expect(burst.holdEnd(at: .milliseconds(100)) != nil)
        burst.end()
        for time in 100..<1_000 {
            burst.note(at: .milliseconds(time))
            #expect(burst.holdEnd(at: .milliseconds(time)) == nil)
        }
    }

    @Test func `a file is a large one from 64 MiB on`() {
        let configuration = EngineConfiguration(
            source: "", owner: Caller(userID: 0, groupID: 0), hostName: "", controlSocket: "")
        #expect(configuration.settleTime(ofBytes: (64 << 20) - 1) == .milliseconds(500))
        #expect(configuration.settleTime(ofBytes: 64 << 20) == .milliseconds(100))
    }
}
