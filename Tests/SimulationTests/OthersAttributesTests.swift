import Simulation
import Testing

@testable import Engine

/// A store without modes in listings, and another client that sets one during a change of ours:
/// afterwards the mode is the store's here too.
@Suite("Modes set by another client meanwhile")
struct OthersAttributesTests {
    private static let time = Timestamp(seconds: 1_234_567_890)

    /// - Parameter body: Runs with `d/file` known here, with mode 0600.
    private static func run(
        movesDirectoriesAtOnce: Bool = true, listsMetadata: Bool = false,
        _ body: @escaping @Sendable (Scenario) async throws -> Void
    ) throws {
        var settings = SimulatedMountSettings()
        settings.provider.listsMetadata = listsMetadata
        settings.provider.movesDirectoriesAtOnce = movesDirectoriesAtOnce
        try Scenario.run(settings: settings) { remote in
            try remote.otherClientMakesDirectory(Scenario.key("d"))
            try remote.otherClientWrites(Scenario.key("d/file"), [1], mode: 0o600)
        } _: { it in
            _ = try await it.names(in: "d")
            #expect(try await it.mode(of: "d/file") == 0o600)
            try await body(it)
        }
    }

    /// A store moves a file with attributes that another client set unseen.
    @Test func `are applied to a file that was renamed here`() throws {
        try Self.run { it in
            try it.remote.otherClientSetsHeaders(
                of: Scenario.key("d/file"), mode: 0o640, modified: Self.time)
            try await it.rename("d/file", to: "d/new")
            #expect(try await it.rest())
            try await it.refresh("d")
            try await it.expectAgreement(on: "d/new", mode: 0o640)
        }
    }

    /// Method: in one step, and object by object.
    @Test(arguments: [true, false])
    func `are applied to a file in a directory that was renamed here`(atOnce: Bool) throws {
        try Self.run(movesDirectoriesAtOnce: atOnce) { it in
            try it.remote.otherClientSetsHeaders(
                of: Scenario.key("d/file"), mode: 0o640, modified: Self.time)
            try await it.rename("d", to: "e")
            #expect(try await it.rest())
            try await it.refresh("e")
            try await it.expectAgreement(on: "e/file", mode: 0o640)
        }
    }

    @Test func `are applied to a directory that was renamed here`() throws {
        try Self.run { it in
            #expect(try await it.mode(of: "d") == 0o755)
            let key = Scenario.key("d")
            let modified = try #require(it.remote.attributes()[key]).modified
            try it.remote.otherClientSetsHeaders(of: key, mode: 0o700, modified: modified)
            try await it.rename("d", to: "e")
            #expect(try await it.rest())
            try await it.refresh()
            try await it.expectAgreement(on: "e", mode: 0o700)
        }
    }

    /// Method: with modes in listings and without, and with the answer to the new time lost.
    @Test(arguments: [(false, false), (false, true), (true, false), (true, true)])
    func `are applied to a file whose time was set here`(
        listsMetadata: Bool, isAnswerLost: Bool
    ) throws {
        try Self.run(listsMetadata: listsMetadata) { it in
            let key = Scenario.key("d/file")
            let modified = try #require(it.remote.attributes()[key]).modified
            try it.remote.otherClientSetsHeaders(of: key, mode: 0o640, modified: modified)
            if isAnswerLost { it.remote.setFaults(SimulatedProviderFaults(.unreachableAfter, 1)) }
            var change = AttributeChange()
            change.modified = .at(Self.time)
            _ = try it.engine.setAttributes(of: try await it.find("d/file"), to: change)
            for _ in 0..<100 where it.remote.attributes()[key]?.modified != Self.time {
                try await it.wait(.milliseconds(200))
            }
            it.remote.setFaults(SimulatedProviderFaults())
            #expect(try await it.rest())
            try await it.refresh("d")
            try await it.expectAgreement(on: "d/file", mode: 0o640)
            #expect(it.remote.attributes()[key]?.modified == Self.time)
        }
    }

    /// Method: an upload is refused, as others have written a new version, which is looked at; they set a
    /// mode of that before the next listing.
    @Test func `are applied to a version found by a refusal`() throws {
        try Self.run { it in
            try it.remote.otherClientWrites(Scenario.key("d/file"), [2, 2], mode: 0o600)
            try await it.write("d/file", [3, 3, 3])
            #expect(try await it.rest())
            #expect(try await it.names(in: "d").count == 2, "a conflict")
            #expect(try await it.mode(of: "d/file") == 0o600)
            try it.remote.otherClientSetsHeaders(
                of: Scenario.key("d/file"), mode: 0o640, modified: Self.time)
            try await it.refresh("d")
            try await it.expectAgreement(on: "d/file", mode: 0o640)
        }
    }

    /// Its listing has no mode; the next upload sends the existing one.
    @Test func `are kept for a file made equal by both sides`() throws {
        try Self.run { it in
            try await it.write("d/both", [7])
            try it.remote.otherClientWrites(Scenario.key("d/both"), [7], mode: 0o640)
            try await it.refresh("d")
            #expect(try await it.rest())
            #expect(try await it.names(in: "d") == ["both", "file"])
            try await it.expectAgreement(on: "d/both", mode: 0o640)
        }
    }

    /// Method: both have one mode and time, so that nothing of ours is to be sent.
    @Test func `are applied to a file made equal by both sides`() throws {
        try Self.run { it in
            let key = Scenario.key("d/both")
            it.remote.refuse(.busy, attempts: "write ")
            try await it.write("d/both", [7])
            var change = AttributeChange()
            change.modified = .at(Self.time)
            _ = try it.engine.setAttributes(of: try await it.find("d/both"), to: change)
            try it.remote.otherClientWrites(key, [7])
            try it.remote.otherClientSetsHeaders(of: key, mode: 0o644, modified: Self.time)
            it.remote.refuse(nil)
            #expect(try await it.rest())
            try it.remote.otherClientSetsHeaders(of: key, mode: 0o604, modified: Self.time)
            try await it.refresh("d")
            try await it.expectAgreement(on: "d/both", mode: 0o604)
        }
    }

    /// Method: the reply to an upload is lost, and looked up; then another client sets a mode.
    @Test func `are applied to a file whose upload was not answered`() throws {
        try Self.run { it in
            it.remote.setFaults(SimulatedProviderFaults(.unreachableAfter, 1))
            try await it.write("d/own", [7])
            for _ in 0..<100 where it.remoteBytes("d/own") == nil {
                try await it.wait(.milliseconds(200))
            }
            it.remote.setFaults(SimulatedProviderFaults())
            #expect(try await it.rest())
            try it.remote.otherClientSetsHeaders(
                of: Scenario.key("d/own"), mode: 0o640, modified: Self.time)
            try await it.refresh("d")
            try await it.expectAgreement(on: "d/own", mode: 0o640)
        }
    }

    /// Method: the mode that is set here is the one that a file without any has here, so that it could
    /// be taken for none.
    @Test func `do not discard a mode that was set here`() throws {
        try Self.run { it in
            it.remote.refuse(.busy, attempts: "set the attributes")
            var change = AttributeChange()
            change.mode = 0o644
            _ = try it.engine.setAttributes(of: try await it.find("d/file"), to: change)
            try it.remote.otherClientWrites(Scenario.key("d/file"), [2, 2], mode: 0o600)
            try await it.refresh("d")
            it.remote.refuse(nil)
            #expect(try await it.rest())
            #expect(try await it.read("d/file") == [2, 2])
            try await it.expectAgreement(on: "d/file", mode: 0o644)
        }
    }
}

extension Scenario {
    fileprivate func mode(of path: String) async throws -> UInt16 {
        let inode = try await find(path)
        return try await engine.retrying { () throws(Blocked) in
            try engine.attributes(of: inode)
        }.mode
    }

    fileprivate func expectAgreement(on path: String, mode: UInt16) async throws {
        #expect(try await self.mode(of: path) == mode)
        #expect(remote.attributes()[Self.key(path)]?.mode == mode)
    }
}
