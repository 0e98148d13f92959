import Simulation
import Testing

@testable import Engine

/// Names that patterns exclude.
@Suite("Excluded names")
struct ExclusionTests {
    private static func settings(_ patterns: String...) throws -> SimulatedMountSettings {
        var settings = SimulatedMountSettings()
        settings.engine.exclusions = Exclusions(try patterns.map { try ExclusionPattern($0) })
        return settings
    }

    /// Ends the engine in an orderly way, and starts it with other patterns.
    private static func remount(_ it: Scenario, _ patterns: String...) async throws {
        let exclusions = Exclusions(try patterns.map { try ExclusionPattern($0) })
        await it.mount.stop()
        it.mount.setExclusions(exclusions)
        try it.mount.start()
        #expect(try await it.rest(within: .seconds(60)))
    }

    private static func state(of path: String, _ it: Scenario) async throws -> ItemState {
        let inode = try await it.find(path)
        return try it.engine.item(inode).state
    }

    @Test func `files with such names stay here, and are not pending`() throws {
        try Scenario.run(settings: Self.settings(".DS_Store", "~$*")) { it in
            try await it.makeDirectory("a")
            try await it.write("a/.DS_Store", [1])
            try await it.write("~$letter", [2, 2])
            #expect(try !it.status().items.contains { $0.path.hasSuffix(".DS_Store") })
            try await it.write("letter", [3])
            #expect(try await it.rest())
            #expect(it.remotePaths == ["a", "letter"])
            #expect(try await it.names(in: "") == ["a", "letter", "~$letter"])
            #expect(try await it.read("a/.DS_Store") == [1])
            #expect(try it.status().pending.excluded == 2)
            #expect(try await Self.state(of: "a/.DS_Store", it) == .excluded)
            #expect(try await Self.state(of: "letter", it) == .local)
            // A later change is not sent either.
            try await it.write("~$letter", [4])
            #expect(try it.status().pending.count == 0)
            #expect(try await it.rest())
            #expect(it.remotePaths == ["a", "letter"])
            try await it.unlink("~$letter")
            #expect(try await it.rest())
            #expect(try it.status().pending.excluded == 1)
        }
    }

    @Test func `the rename of a directory has only what is below it planned again`() throws {
        try Scenario.run(settings: Self.settings("/build", "/c/x/build")) { it in
            for path in ["build", "a", "c", "c/x", "c/x/build", "c/x/build/y"] {
                try await it.makeDirectory(path)
            }
            for path in ["build/0", "build/1", "c/x/build/y/2"] { try await it.write(path, [1]) }
            #expect(try await it.rest())
            #expect(it.remotePaths == ["a", "c", "c/x"])
            try await it.rename("a", to: "b")
            #expect(try it.status().pending.count == 1)
            #expect(try await it.rest())
            try await it.rename("c", to: "d")
            #expect(try it.status().pending.count == 2)
            #expect(try await it.rest())
            #expect(
                it.remotePaths == ["b", "d", "d/x", "d/x/build", "d/x/build/y", "d/x/build/y/2"])
            #expect(try it.status().pending.excluded == 3)
        }
    }

    @Test func `what the remote has under such names is not shown, and not touched`() throws {
        try Scenario.run(
            settings: Self.settings(".DS_Store", "build/", "/top/x"),
            before: { remote in
                for path in ["a", "build", "top"] {
                    try remote.otherClientMakesDirectory(Scenario.key(path))
                }
                for path in ["a/.DS_Store", "a/b", "build/x", "top/x", "top/y", ".DS_Store"] {
                    try remote.otherClientWrites(Scenario.key(path), Array(path.utf8))
                }
            }
        ) { it in
            #expect(try await it.names(in: "") == ["a", "top"])
            #expect(try await it.names(in: "a") == ["b"])
            #expect(try await it.names(in: "top") == ["y"])
            await #expect(throws: EngineError.self) { try await it.find("build/x") }
            await #expect(throws: EngineError.self) { try await it.find("a/.DS_Store") }
            // The local file of that name is another one.
            try await it.write("a/.DS_Store", [1])
            try await it.makeDirectory("build")
            try await it.write("build/x", [2])
            try await it.refresh("a")
            try await it.refresh()
            #expect(try await it.rest())
            #expect(try await it.read("a/.DS_Store") == [1])
            #expect(it.remoteBytes("a/.DS_Store") == Array("a/.DS_Store".utf8))
            #expect(it.remoteBytes("build/x") == Array("build/x".utf8))
            #expect(it.remotePaths.count == 9)
        }
    }

    /// Goal: an editor's atomic save, with a temporary name that is excluded.
    @Test func `a rename to an ordinary name sends the file, over the old one`() throws {
        try Scenario.run(settings: Self.settings("*.tmp")) { it in
            try await it.write("letter", [1])
            #expect(try await it.rest())
            try await it.write("letter.tmp", [2, 2])
            #expect(try await it.rest())
            try await it.rename("letter.tmp", to: "letter")
            #expect(try await it.rest())
            #expect(it.remotePaths == ["letter"])
            #expect(it.remoteBytes("letter") == [2, 2])
            #expect(try it.status().pending.excluded == 0)
        }
    }

    @Test func `a rename to an excluded name is refused as to another file system`() throws {
        try Scenario.run(settings: Self.settings("*.tmp", "sub/")) { it in
            try await it.write("a", [1])
            try await it.write("b.tmp", [2])
            try await it.makeDirectory("sub")
            try await it.makeDirectory("d")
            for (path, newPath) in [("a", "a.tmp"), ("a", "b.tmp"), ("a", "sub/a"), ("d", "sub/d")]
            {
                let error = await #expect(throws: EngineError.self) {
                    try await it.rename(path, to: newPath)
                }
                #expect(error?.kind == .crossDevice)
            }
            #expect(try await it.read("b.tmp") == [2])
            // Excluded ones may be renamed among themselves.
            try await it.rename("b.tmp", to: "sub/b")
            try await it.rename("sub/b", to: "c.tmp")
            #expect(try await it.rest())
            #expect(it.remotePaths == ["a", "d"])
            #expect(try it.status().pending.excluded == 2)
        }
    }

    @Test func `a renamed folder takes its contents along, except what is excluded itself`() throws
    {
        try Scenario.run(settings: Self.settings("build/", ".DS_Store")) { it in
            try await it.makeDirectory("build")
            try await it.makeDirectory("build/deep")
            try await it.write("build/deep/a", [1])
            try await it.write("build/.DS_Store", [2])
            #expect(try await it.rest())
            #expect(it.remotePaths == [])
            try await it.rename("build", to: "product")
            #expect(try await it.rest())
            #expect(it.remotePaths == ["product", "product/deep", "product/deep/a"])
            #expect(try await it.read("product/.DS_Store") == [2])
            #expect(try it.status().pending.excluded == 1)
        }
    }

    @Test func `paths are compared again when a folder above them is renamed`() throws {
        try Scenario.run(settings: Self.settings("/a/x")) { it in
            try await it.makeDirectory("a")
            try await it.write("a/x", [1])
            #expect(try await it.rest())
            #expect(it.remotePaths == ["a"])
            try await it.rename("a", to: "b")
            #expect(try await it.rest())
            #expect(it.remotePaths == ["b", "b/x"])
        }
    }

    /// Goal: a deletion of a folder does not take what cannot be seen here.
    @Test func `a removed folder comes back if the remote has excluded items in it`() throws {
        try Scenario.run(
            settings: Self.settings("*.raw"),
            before: { remote in
                try remote.otherClientMakesDirectory(Scenario.key("photos"))
                try remote.otherClientWrites(Scenario.key("photos/a.jpg"), [1])
                try remote.otherClientWrites(Scenario.key("photos/a.raw"), [2])
            }
        ) { it in
            #expect(try await it.names(in: "photos") == ["a.jpg"])
            try await it.unlink("photos/a.jpg")
            try await it.removeDirectory("photos")
            #expect(try await it.rest())
            #expect(it.remotePaths == ["photos", "photos/a.raw"])
            #expect(try await it.names(in: "") == ["photos"])
            #expect(try await it.names(in: "photos") == [])
        }
    }

    @Test func `a folder that the remote deletes stays if excluded files are in it`() throws {
        try Scenario.run(settings: Self.settings("*.tmp")) { it in
            try await it.makeDirectory("a")
            try await it.write("a/x", [1])
            try await it.write("a/x.tmp", [2])
            #expect(try await it.rest())
            try it.remote.otherClientDeletesTree(Scenario.key("a"))
            try await it.refresh()
            #expect(try await it.rest())
            #expect(try await it.names(in: "a") == ["x.tmp"])
            #expect(try await it.read("a/x.tmp") == [2])
            #expect(it.remotePaths == ["a"])
        }
    }

    @Test func `a renamed folder takes hidden items along, and excluded ones`() throws {
        try Scenario.run(
            settings: Self.settings("*.tmp"),
            before: { remote in
                try remote.otherClientMakesDirectory(Scenario.key("a"))
                try remote.otherClientWrites(Scenario.key("a/there.tmp"), [1])
            }
        ) { it in
            try await it.write("a/here.tmp", [2])
            try await it.rename("a", to: "b")
            #expect(try await it.rest())
            #expect(it.remotePaths == ["b", "b/there.tmp"])
            #expect(try await it.read("b/here.tmp") == [2])
        }
    }

    @Test func `they are not evicted`() throws {
        var settings = try Self.settings("*.tmp")
        settings.engine.cacheBytesMax = 20_000
        try Scenario.run(settings: settings) { it in
            try await it.write("a.tmp", [UInt8](repeating: 7, count: 15_000))
            for name in ["b", "c", "d"] {
                try await it.write(name, [UInt8](repeating: 8, count: 10_000))
                #expect(try await it.rest())
            }
            let inode = try await it.find("a.tmp")
            let report = try it.engine.evict(inode)
            #expect(report.refused.map(\.reason) == ["it is excluded, so that it exists only here"])
            it.remote.setReachable(false)
            #expect(try await it.read("a.tmp").count == 15_000)
        }
    }

    @Test func `they survive a killed daemon, also while they are written`() throws {
        try Scenario.run(settings: Self.settings("*.tmp")) { it in
            try await it.write("a.tmp", [1])
            try await it.write("b.tmp", [2])
            let inode = try await it.find("b.tmp")
            try await it.open(inode)
            try await it.write([3, 3, 3], at: 1, of: inode)
            await it.mount.kill()
            try it.mount.check()
            try it.mount.start()
            #expect(try await it.rest())
            #expect(try await it.read("a.tmp") == [1])
            #expect(try await it.read("b.tmp") == [2, 3, 3, 3])
            #expect(it.remotePaths == [])
            #expect(try it.status().pending.excluded == 2)
        }
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func `what was synchronised survives a power cut`(seed: UInt64) throws {
        var settings = try Self.settings("*.tmp")
        settings.keepsDatabaseOnDisk = true
        try Scenario.run(seed: seed, settings: settings) { it in
            try await it.write("a.tmp", [1, 2, 3])
            let inode = try await it.find("a.tmp")
            try await it.open(inode)
            try await it.engine.retrying { () throws(Blocked) in
                try it.engine.synchronize(inode)
            }
            it.engine.release(inode, access: .write)
            try await it.write("b.tmp", [4])
            await it.mount.cutPower()
            try it.mount.start()
            #expect(try await it.rest())
            #expect(try await it.read("a.tmp") == [1, 2, 3])
            #expect(it.remotePaths == [])
            #expect(try [1, 2].contains(it.status().pending.excluded))
        }
    }

    // MARK: Other patterns than before

    @Test func `a new pattern hides what the remote has, without deleting it`() throws {
        try Scenario.run { it in
            try await it.makeDirectory("build")
            try await it.write("build/x", [1])
            try await it.write("a.tmp", [2])
            try await it.write("a", [3])
            #expect(try await it.rest())
            try await Self.remount(it, "*.tmp", "build/")
            #expect(try await it.names(in: "") == ["a"])
            try await it.refresh()
            #expect(try await it.names(in: "") == ["a"])
            #expect(it.remotePaths == ["a", "a.tmp", "build", "build/x"])
            #expect(try it.engine.trash.files(below: "", after: 0, limit: 9).files.isEmpty)
            // Without it, they are there again.
            try await Self.remount(it)
            try await it.refresh()
            #expect(try await it.names(in: "") == ["a", "a.tmp", "build"])
            #expect(try await it.read("build/x") == [1])
        }
    }

    @Test func `a new pattern keeps a file here that was not sent yet`() throws {
        try Scenario.run { it in
            #expect(try await it.names(in: "") == [])
            it.remote.setReachable(false)
            try await it.makeDirectory("build")
            try await it.write("build/x", [1])
            try await it.write("a.tmp", [2])
            await it.mount.stop()
            it.remote.setReachable(true)
            it.mount.setExclusions(
                Exclusions([try ExclusionPattern("*.tmp"), try ExclusionPattern("build/")]))
            try it.mount.start()
            #expect(try await it.rest())
            #expect(it.remotePaths == [])
            #expect(try it.status().pending.excluded == 3)
            try await Self.remount(it)
            #expect(it.remotePaths == ["a.tmp", "build", "build/x"])
            #expect(try it.status().pending.excluded == 0)
        }
    }

    @Test func `changes made before a new pattern are sent, then the item is hidden`() throws {
        try Scenario.run { it in
            try await it.write("a.tmp", [1])
            #expect(try await it.rest())
            it.remote.setReachable(false)
            try await it.write("a.tmp", [2, 2])
            await it.mount.stop()
            it.remote.setReachable(true)
            it.mount.setExclusions(Exclusions([try ExclusionPattern("*.tmp")]))
            try it.mount.start()
            #expect(try await it.rest())
            #expect(it.remoteBytes("a.tmp") == [2, 2])
            #expect(try await it.names(in: "") == ["a.tmp"])
            try await Self.remount(it, "*.tmp")
            #expect(try await it.names(in: "") == [])
            #expect(it.remoteBytes("a.tmp") == [2, 2])
        }
    }

    @Test func `without the pattern, a file that both sides have is a conflict`() throws {
        try Scenario.run(
            settings: Self.settings("a.tmp"),
            before: { try $0.otherClientWrites(Scenario.key("a.tmp"), [1]) }
        ) { it in
            try await it.write("a.tmp", [2, 2])
            #expect(try await it.rest())
            #expect(it.remoteBytes("a.tmp") == [1])
            try await Self.remount(it)
            #expect(try await it.rest())
            #expect(it.remotePaths.count == 2)
            #expect(it.remoteBytes("a.tmp") == [1])
            #expect(try it.status().conflictCount == 1)
        }
    }
}
