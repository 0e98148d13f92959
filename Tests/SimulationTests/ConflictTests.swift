import Simulation
import Testing

@testable import Engine

@Suite("Conflicts and their resolution")
struct ConflictTests {
    /// Both sides change `plan.txt`; ours is kept beside the remote's.
    private static func quarrel(
        keepsDatabaseOnDisk: Bool = false, cacheBytesMax: UInt64? = nil,
        _ body: @escaping @Sendable (Scenario, String) async throws -> Void
    ) throws {
        var settings = SimulatedMountSettings()
        settings.keepsDatabaseOnDisk = keepsDatabaseOnDisk
        settings.engine.cacheBytesMax = cacheBytesMax ?? settings.engine.cacheBytesMax
        try Scenario.run(settings: settings) {
            try $0.otherClientWrites(Scenario.key("plan.txt"), [0])
        } _: { it in
            _ = try await it.read("plan.txt")
            it.remote.setReachable(false)
            try await it.write("plan.txt", [1, 1])
            try it.remote.otherClientWrites(Scenario.key("plan.txt"), [2, 2, 2])
            it.remote.setReachable(true)
            #expect(try await it.rest())
            let names = try await it.names(in: "")
            let ours = try #require(names.first { $0.contains("conflict") })
            #expect(names.count == 2)
            #expect(try await it.read("plan.txt") == [2, 2, 2])
            #expect(try await it.read(ours) == [1, 1])
            try await body(it, ours)
        }
    }

    /// A rename over a file that another client replaces meanwhile.
    ///
    /// Method: requests take half a second, so that repeated attempts show as time.
    @Test(arguments: ["a file", "a directory"])
    func `their version appears at our target path at once`(theirs: String) throws {
        var settings = SimulatedMountSettings()
        settings.provider.latency = .milliseconds(500)...(.milliseconds(500))
        try Scenario.run(settings: settings) {
            try $0.otherClientWrites(Scenario.key("old"), [0])
            try $0.otherClientWrites(Scenario.key("new"), [1, 1])
        } _: { it in
            _ = try await it.read("new")
            try await it.rename("new", to: "old")
            if theirs == "a file" {
                try it.remote.otherClientWrites(Scenario.key("old"), [2, 2, 2])
            } else {
                try it.remote.otherClientDeletes(Scenario.key("old"))
                try it.remote.otherClientMakesDirectory(Scenario.key("old"))
            }
            #expect(try await it.rest(within: .seconds(15)))
            let ours = try #require(try await it.names(in: "").first { $0.contains("conflict") })
            #expect(it.remoteBytes(ours) == [1, 1])
            #expect(it.remotePaths == [ours, "old"].sorted())
            #expect(it.remoteBytes("old") == (theirs == "a file" ? [2, 2, 2] : nil))
        }
    }

    /// Goal: only undamaged bytes show that two versions differ.
    @Test func `a damaged reply causes no conflict of equal versions`() throws {
        try Scenario.run { it in
            _ = try await it.names(in: "")
            it.remote.setReachable(false)
            try await it.write("a", [1, 2, 3])
            try it.remote.otherClientWrites(Scenario.key("a"), [1, 2, 3])
            it.remote.setFaults(SimulatedProviderFaults(.damagedRead, 1))
            it.remote.setReachable(true)
            #expect(try await !it.rest(within: .seconds(20)))
            it.remote.setFaults(SimulatedProviderFaults())
            #expect(try await it.rest())
            #expect(it.remotePaths == ["a"])
            #expect(try await it.names(in: "") == ["a"])
        }
    }

    /// Goal: a store that shows a file, and says of its bytes that they are not there, is not asked
    /// without end.
    @Test(arguments: [true, false], [ProviderError.Kind.missing, .changed])
    func `retries with backoff a version that is listed but cannot be read`(
        isNew: Bool, kind: ProviderError.Kind
    ) throws {
        try Scenario.run { remote in
            if !isNew { try remote.otherClientWrites(Scenario.key("a"), [0]) }
        } _: { it in
            if isNew { _ = try await it.names(in: "") } else { _ = try await it.read("a") }
            it.remote.setReachable(false)
            try await it.write("a", [1, 2, 3])
            try it.remote.otherClientWrites(Scenario.key("a"), [1, 2, 4])
            it.remote.refuse(kind, attempts: "read")
            it.remote.setReachable(true)
            try await it.wait(.seconds(60))
            let item = try #require(try it.status().items.first)
            #expect(item.failure?.isFinal == false && item.attempts < 20, "\(item)")
            it.remote.refuse(nil)
            #expect(try await it.rest())
            let ours = try #require(try await it.names(in: "").first { $0.contains("conflict") })
            #expect(it.remoteBytes(ours) == [1, 2, 3])
            #expect(it.remoteBytes("a") == [1, 2, 4])
        }
    }

    /// Goal: a remote that reports every name as taken does not fill the folder with conflicts, and
    /// a blocked change is sent once a name is free.
    @Test(arguments: ["created", "moved"])
    func `tries a few conflict names, then retries the last one with backoff`(what: String) throws {
        try Scenario.run { it in
            _ = try await it.names(in: "")
            if what == "moved" {
                try await it.write("former", [1])
                #expect(try await it.rest())
            }
            it.remote.setHasEveryName(true)
            it.remote.refuse(.exists, attempts: what == "moved" ? "move " : "write ")
            if what == "moved" {
                try await it.rename("former", to: "a.txt")
            } else {
                try await it.write("a.txt", [1])
            }
            let inode = try await it.find("a.txt")
            try await it.wait(.seconds(600))
            #expect(try it.status().pending.isSettled)
            #expect(try it.engine.item(inode).failure?.kind == .exists)
            let path = try it.engine.item(inode).path
            #expect(path.hasPrefix("a (conflict here "))
            #expect(path.hasSuffix(" 5).txt"))
            #expect(try await it.names(in: "").count <= 6)
            #expect(try await it.read(path) == [1])
            it.remote.setHasEveryName(false)
            it.remote.refuse(nil)
            #expect(try await it.rest())
            #expect(it.remotePaths == [path])
            #expect(it.remoteBytes(path) == [1])
        }
    }

    /// Goal: the user who has partly changed a file whose rest is lost is told so once, and finds
    /// the remote's version beside it.
    ///
    /// Method: in a directory no longer in use, so that listings find nothing, one byte of a file
    /// is written and the rest is not local.
    @Test func `a partly written file is kept beside the version that replaced its base`() throws {
        try Scenario.run {
            try $0.otherClientMakesDirectory(Scenario.key("folder"))
            try $0.otherClientWrites(Scenario.key("folder/file"), [1, 1, 1])
        } _: { it in
            let file = try await it.find("folder/file")
            it.remote.setReachable(false)
            try await it.open(file)
            try await it.write([2], at: 0, of: file)
            try it.remote.otherClientWrites(Scenario.key("folder/file"), [3, 3])
            try await it.wait(.seconds(1_000))
            it.engine.release(file, access: .write)
            it.remote.setReachable(true)
            #expect(try await !it.rest(within: .seconds(120)))
            let ours = try #require(try await it.names(in: "folder").first { $0 != "file" })
            #expect(try it.status().items.map(\.failure?.isFinal) == [true])
            #expect(try await it.read("folder/file") == [3, 3])
            _ = try await it.engine.settleConflict(
                try await it.find("folder/\(ours)"), keeping: .theirs)
            #expect(try await it.rest())
            #expect(try await it.names(in: "folder") == ["file"])
        }
    }

    /// Method: the comparison with the existing object is delayed until that is gone.
    @Test(arguments: ["deletes", "replaces"])
    func `a deleted object does not block a new file of its name`(
        other: String
    ) throws {
        try Scenario.run { it in
            #expect(try await it.names(in: "").isEmpty)
            it.remote.refuse(.unreachable, attempts: "read")
            try it.remote.otherClientWrites(Scenario.key("a"), [2, 2])
            try await it.write("a", [1, 1])
            try await it.wait(.seconds(20))
            if other == "deletes" {
                try it.remote.otherClientDeletes(Scenario.key("a"))
            } else {
                try it.remote.otherClientWrites(Scenario.key("a"), [3, 3])
            }
            it.remote.refuse(nil)
            #expect(try await it.rest())
            let names = try await it.names(in: "")
            if other == "deletes" {
                #expect(names == ["a"])
                #expect(it.remoteBytes("a") == [1, 1])
            } else {
                let ours = try #require(names.first { $0.contains("conflict") })
                #expect(it.remoteBytes(ours) == [1, 1])
                #expect(it.remoteBytes("a") == [3, 3])
            }
        }
    }

    @Test func `a name used temporarily by another client causes no conflict`() throws {
        try Scenario.run { it in
            #expect(try await it.names(in: "").isEmpty)
            try await it.write("a", [1])
            let file = try await it.find("a")
            try await it.open(file)
            try it.remote.otherClientWrites(Scenario.key("a"), [2, 2])
            try await it.refresh()
            try it.remote.otherClientDeletes(Scenario.key("a"))
            try await it.refresh()
            try await it.write([3, 3, 3], at: 0, of: file)
            it.engine.release(file, access: .write)
            #expect(try await it.rest())
            #expect(try await it.names(in: "") == ["a"])
            #expect(it.remoteBytes("a") == [3, 3, 3])
        }
    }

    @Test func `the status shows both versions`() throws {
        try Self.quarrel { it, ours in
            let conflicts = try it.status().conflicts
            #expect(conflicts.map(\.path) == [ours])
            #expect(conflicts.map(\.counterpart) == ["plan.txt"])
        }
    }

    @Test(arguments: [true, false])
    func `keeping mine replaces the remote's`(isNamedByOurs: Bool) throws {
        try Self.quarrel { it, ours in
            _ = try await it.read("plan.txt")
            let inode = try await it.find(isNamedByOurs ? ours : "plan.txt")
            let settled = try await it.engine.settleConflict(inode, keeping: .mine)
            #expect(settled == SettledConflict(path: "plan.txt", isInTrash: true))
            #expect(try await it.rest())
            #expect(it.remotePaths == ["plan.txt"])
            #expect(it.remoteBytes("plan.txt") == [1, 1])
            #expect(try it.status().conflicts.isEmpty)
            try await Self.expectInTrash("plan.txt", [2, 2, 2], it)
        }
    }

    @Test func `keeping theirs moves mine to the trash`() throws {
        try Self.quarrel { it, ours in
            let settled = try await it.engine.settleConflict(
                try await it.find(ours), keeping: .theirs)
            #expect(settled.isInTrash == true)
            #expect(try await it.rest())
            #expect(it.remotePaths == ["plan.txt"])
            #expect(it.remoteBytes("plan.txt") == [2, 2, 2])
            #expect(try it.status().conflicts.isEmpty)
            try await Self.expectInTrash(ours, [1, 1], it)
        }
    }

    @Test func `a version that does not fit the trash is given up, which the result tells`() throws
    {
        try Self.quarrel(cacheBytesMax: 10 << 20) { it, ours in
            try await it.write(ours, [UInt8](repeating: 1, count: 1_100_000))
            #expect(try await it.rest())
            let settled = try await it.engine.settleConflict(
                try await it.find(ours), keeping: .theirs)
            #expect(settled == SettledConflict(path: "plan.txt", isInTrash: false))
            #expect(try await it.rest())
            #expect(it.remotePaths == ["plan.txt"])
        }
    }

    /// Method: the version that is given up was changed since it was sent, and the power fails at one of
    /// several moments after the decision.
    @Test(arguments: 0..<15)
    func `a power cut loses neither version of a conflict that was resolved`(
        moment: Int
    ) throws {
        try Self.quarrel(keepsDatabaseOnDisk: true) { it, ours in
            it.remote.setReachable(false)
            try await it.write(ours, [9, 9, 9, 9])
            try await it.wait(.seconds(30))
            _ = try await it.engine.settleConflict(try await it.find(ours), keeping: .theirs)
            try await it.wait(.milliseconds(1 << moment))
            await it.mount.cutPower()
            try it.mount.start()
            if try await it.names(in: "").contains(ours) {
                #expect(try await it.read(ours) == [9, 9, 9, 9])
            } else {
                try await Self.expectInTrash(ours, [9, 9, 9, 9], it)
            }
            it.remote.setReachable(true)
            #expect(try await it.rest())
            #expect(it.remoteBytes("plan.txt") == [2, 2, 2])
        }
    }

    /// Restores the only file in the trash, which has to be this one.
    private static func expectInTrash(
        _ path: String, _ bytes: [UInt8], _ it: Scenario
    ) async throws {
        var outcomes: [TrashRequests.Outcome] = []
        try await it.engine.trash.restore(below: "", isAll: true) { outcomes.append($0) }
        #expect(outcomes.map(\.path) == [path])
        guard case .restored(let restored, _) = outcomes.first?.result else {
            Issue.record("not restored: \(outcomes)")
            return
        }
        #expect(try await it.read(restored) == bytes)
    }

    @Test func `keeping both ends the conflict without moving either`() throws {
        try Self.quarrel { it, ours in
            let settled = try await it.engine.settleConflict(
                try await it.find("plan.txt"), keeping: .both)
            #expect(settled == SettledConflict(path: ours))
            #expect(try it.status().conflicts.isEmpty)
            #expect(try await it.names(in: "").count == 2)
        }
    }

    @Test func `with several versions, one has to be named`() throws {
        try Self.quarrel { it, ours in
            it.remote.setReachable(false)
            try await it.write("plan.txt", [4, 4])
            try it.remote.otherClientWrites(Scenario.key("plan.txt"), [5, 5, 5])
            it.remote.setReachable(true)
            #expect(try await it.rest())
            #expect(try await it.names(in: "").count == 3)
            let inode = try await it.find("plan.txt")
            let error = await #expect(throws: EngineError.self) {
                _ = try await it.engine.settleConflict(inode, keeping: .mine)
            }
            #expect(error?.description.contains("in use") == false)
            #expect(error?.remedy?.contains(ours) == true)
            _ = try await it.engine.settleConflict(try await it.find(ours), keeping: .theirs)
            #expect(try await it.names(in: "").count == 2)
        }
    }

    /// A word does not remove a directory with all that is in it.
    @Test(arguments: [true, false])
    func `a conflict of a file with a directory is resolved by the user, and neither is lost`(
        isDirectoryOurs: Bool
    ) throws {
        try Scenario.run { it in
            #expect(try await it.names(in: "").isEmpty)
            it.remote.setReachable(false)
            if isDirectoryOurs {
                try it.remote.otherClientWrites(Scenario.key("name"), [1])
                try await it.makeDirectory("name")
                try await it.write("name/in", [2])
            } else {
                try it.remote.otherClientMakesDirectory(Scenario.key("name"))
                try it.remote.otherClientWrites(Scenario.key("name/in"), [2])
                try await it.write("name", [1])
            }
            it.remote.setReachable(true)
            #expect(try await it.rest())
            let paths = it.remotePaths
            let ours = try #require(paths.first { $0.contains("conflict") && !$0.contains("/") })
            let inode = try await it.find(ours)
            for resolution in [ConflictResolution.mine, isDirectoryOurs ? .theirs : .mine] {
                let error = await #expect(throws: EngineError.self) {
                    _ = try await it.engine.settleConflict(inode, keeping: resolution)
                }
                #expect(error?.kind == .isDirectory)
                #expect(error?.remedy?.contains("keep both") == true)
            }
            #expect(try await it.rest())
            #expect(it.remotePaths == paths)
            if !isDirectoryOurs {
                _ = try await it.engine.settleConflict(inode, keeping: .theirs)
                #expect(try await it.rest())
                #expect(it.remotePaths == ["name", "name/in"])
            }
        }
    }

    @Test func `a file without a conflict cannot be resolved`() throws {
        try Scenario.run { it in
            try await it.write("a", [1])
            let inode = try await it.find("a")
            await #expect(throws: EngineError.self) {
                _ = try await it.engine.settleConflict(inode, keeping: .mine)
            }
        }
    }
}
