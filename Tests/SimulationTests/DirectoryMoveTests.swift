import Simulation
import Testing

@testable import Engine

@Suite("Moves of directories on a store that moves object by object")
struct DirectoryMoveTests {
    @Test func `continue after a kill in the middle`() throws {
        var settings = SimulatedMountSettings()
        settings.provider.movesDirectoriesAtOnce = false
        settings.provider.pieceDelay = .milliseconds(100)...(.milliseconds(100))
        try Scenario.run(settings: settings) { remote in
            try remote.otherClientMakesDirectory(Scenario.key("old"))
            for index in 0..<40 {
                try remote.otherClientWrites(Scenario.key("old/f\(index)"), [UInt8(index)])
            }
        } _: { it in
            _ = try await it.names(in: "old")
            try await it.write("old/f7", [99, 99])
            try await it.rename("old", to: "new")
            try await it.wait(.seconds(2))
            let moved = it.remotePaths.count { $0.hasPrefix("new/") }
            #expect((1..<40).contains(moved), "it is half-way")
            await it.mount.kill()
            try it.mount.start()
            #expect(try await it.rest())
            let expected = ["new"] + (0..<40).map { "new/f\($0)" }
            #expect(it.remotePaths == expected.sorted())
            #expect(it.remoteBytes("new/f7") == [99, 99])
            #expect(try await it.names(in: "").count == 1)
            #expect(try await it.read("new/f3") == [3])
            #expect(try it.status().conflicts.isEmpty)
        }
    }

    /// Goal: a file keeps its content and its identity, and a change of it is no conflict, although the store
    /// gives its copy another version.
    @Test(arguments: [false, true])
    func `of copies with other etags are no changes`(dies: Bool) throws {
        var settings = SimulatedMountSettings()
        settings.provider.movesDirectoriesAtOnce = false
        settings.provider.movesFilesAtOnce = false
        settings.provider.givesCopiesOtherETags = true
        settings.provider.pieceDelay = .milliseconds(100)...(.milliseconds(100))
        try Scenario.run(settings: settings) { it in
            try await it.makeDirectory("old")
            for index in 0..<8 { try await it.write("old/f\(index)", [UInt8(index)]) }
            #expect(try await it.rest())
            let inodes = try await Self.inodes(in: "old", it)
            try await it.rename("old", to: "new")
            if dies {
                for _ in 0..<1_000 where !it.remotePaths.contains("new/f2") {
                    try await it.wait(.milliseconds(10))
                }
                #expect(it.remotePaths.contains("old/f6"), "it is half-way")
                await it.mount.kill()
                try it.mount.start()
            }
            try await it.write("new/f1", [101])
            try await it.write("new/f6", [106])
            #expect(try await it.rest())
            let names = (0..<8).map { "new/f\($0)" }
            #expect(it.remotePaths == ["new"] + names)
            #expect(it.remoteBytes("new/f1") == [101] && it.remoteBytes("new/f6") == [106])
            try await it.refresh("new")
            #expect(try it.status().conflicts.isEmpty)
            #expect(try await Self.inodes(in: "new", it) == inodes)
            it.remote.setReachable(false)
            for index in [0, 7] { #expect(try await it.read("new/f\(index)") == [UInt8(index)]) }
        }
    }

    private static func inodes(in path: String, _ it: Scenario) async throws -> [InodeNumber] {
        var inodes: [InodeNumber] = []
        for index in 0..<8 { inodes.append(try await it.find("\(path)/f\(index)")) }
        return inodes
    }

    /// A directory `old` of eight files is on its way to `new`: `f2` has moved, `f7` has not.
    private static func amidMove(
        _ body: @escaping @Sendable (Scenario) async throws -> Void
    ) throws {
        var settings = SimulatedMountSettings()
        settings.provider.movesDirectoriesAtOnce = false
        settings.provider.pieceDelay = .seconds(10)...(.seconds(10))
        try Scenario.run(settings: settings) { remote in
            try remote.otherClientMakesDirectory(Scenario.key("old"))
            for index in 0..<8 {
                try remote.otherClientWrites(Scenario.key("old/f\(index)"), [UInt8(index)])
            }
        } _: { it in
            _ = try await it.names(in: "old")
            try await it.rename("old", to: "new")
            for _ in 0..<100 where !it.remotePaths.contains("new/f2") {
                try await it.wait(.seconds(1))
            }
            try await body(it)
        }
    }

    /// Goal: an object whose new name is taken stays in place; all others move, and nothing is left
    /// under a temporary name.
    @Test(arguments: [false, true])
    func `leave objects in the old place that other clients create during the move`(dies: Bool)
        throws
    {
        try Self.amidMove { it in
            try it.remote.otherClientWrites(Scenario.key("old/f0"), [100])
            try it.remote.otherClientWrites(Scenario.key("new/f7"), [107])
            if dies {
                await it.mount.kill()
                try it.mount.start()
            }
            #expect(try await it.rest())
            let moved = (0..<8).map { "new/f\($0)" }
            #expect(it.remotePaths == ["new"] + moved + ["old", "old/f0", "old/f7"])
            try await it.refresh()
            #expect(try await it.read("new/f0") == [0])
            #expect(try await it.read("old/f0") == [100])
            try await it.refresh("new")
            #expect(try await it.read("new/f7") == [107])
            #expect(try await it.read("old/f7") == [7])
        }
    }

    /// Goal: who reads a file does not wait for the thousands beside it.
    @Test(arguments: [false, true])
    func `keep their contents readable during the move`(dies: Bool) throws {
        try Self.amidMove { it in
            if dies {
                await it.mount.kill()
                try it.mount.start()
            }
            #expect(try await it.read("new/f1") == [1], "that has moved")
            #expect(try await it.read("new/f6") == [6], "that has not")
            #expect(it.remotePaths.contains("old/f7"), "it is half-way")
            #expect(try await it.rest())
        }
    }
}
