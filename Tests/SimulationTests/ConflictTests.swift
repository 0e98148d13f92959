import Simulation
import Testing

@testable import Engine

@Suite("Conflicts and their resolution")
struct ConflictTests {
    /// Both sides change `plan.txt`; ours is kept beside the remote's.
    private static func quarrel(
        keepsDatabaseOnDisk: Bool = false,
        _ body: @escaping @Sendable (Scenario, String) async throws -> Void
    ) throws {
        var settings = SimulatedMountSettings()
        settings.keepsDatabaseOnDisk = keepsDatabaseOnDisk
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

    /// Goal: a program that opens a file for writing by a name that the kernel still has from before the
    /// conflict gets the version that has the name now. The kernel looks a name up again if the opening is
    /// refused so, and then opens what it finds, also if that is the same file.
    @Test func `a file with a conflict name is refused once to a program that would write it`()
        throws
    {
        try Scenario.run {
            try $0.otherClientWrites(Scenario.key("a"), [0])
        } _: { it in
            _ = try await it.read("a")
            let ours = try await it.find("a")
            it.remote.refuse(.busy, attempts: "write ")
            try await it.write("a", [1, 1])
            try it.remote.otherClientWrites(Scenario.key("a"), [2, 2, 2])
            try await it.refresh()
            try await it.wait(.seconds(10))
            #expect(try await it.find("a") != ours)
            let refusal = await #expect(throws: EngineError.self) { try await it.open(ours) }
            #expect(refusal?.kind == .changedRemotely)
            try await it.open(ours)
            it.engine.release(ours, access: .write)
            it.remote.refuse(nil)
            #expect(try await it.rest())
        }
    }

    /// Goal: a program that removes or replaces by its name a file that it has open for writing affects no
    /// version that it has not seen.
    @Test(arguments: ["created", "created in place of a moved one", "moved"])
    func `a file keeps its name as long as it is open for writing`(what: String) throws {
        try Scenario.run {
            try $0.otherClientWrites(Scenario.key(what == "moved" ? "b" : "a"), [0])
        } _: { it in
            let names = try await it.names(in: "")
            for name in names { _ = try await it.read(name) }
            it.remote.setReachable(false)
            switch what {
            case "moved": try await it.rename("b", to: "a")
            case "created":
                try await it.unlink("a")
                try await it.write("a", [1])
            default:
                try await it.rename("a", to: "c")
                try await it.write("c", [3])
                try await it.write("a", [1])
            }
            let ours = try await it.find("a")
            try await it.open(ours)
            try it.remote.otherClientWrites(Scenario.key("a"), [2, 2, 2])
            it.remote.setReachable(true)
            try await it.refresh()
            try await it.wait(.seconds(5))
            #expect(try await it.find("a") == ours)
            it.engine.release(ours, access: .write)
            #expect(try await it.rest())
            #expect(try await it.find("a") != ours)
            #expect(it.remoteBytes("a") == [2, 2, 2])
            let conflict = try #require(it.remotePaths.first { $0.hasPrefix("a (conflict") })
            #expect(it.remoteBytes(conflict) == [what == "moved" ? 0 : 1])
            if what.contains("place") { #expect(it.remoteBytes("c") == [3]) }
        }
    }

    /// Goal: a log that is moved, and stays open, is sent.
    @Test func `a moved file that stays open for writing gets a conflict name in the end`() throws {
        try Scenario.run {
            try $0.otherClientWrites(Scenario.key("b"), [0])
        } _: { it in
            _ = try await it.read("b")
            it.remote.setReachable(false)
            try await it.rename("b", to: "a")
            let ours = try await it.find("a")
            try await it.open(ours)
            try await it.write([1], at: 0, of: ours)
            try it.remote.otherClientWrites(Scenario.key("a"), [2, 2, 2])
            it.remote.setReachable(true)
            try await it.wait(.seconds(200))
            #expect(try await it.find("a") != ours)
            let conflict = try #require(it.remotePaths.first { $0.hasPrefix("a (conflict") })
            #expect(it.remoteBytes(conflict) == [1])
            it.engine.release(ours, access: .write)
            #expect(try await it.rest())
        }
    }

    /// Goal: only the version waits for a writer that would take its place.
    @Test func `a version that waits for a writer keeps no other one of a listing waiting`() throws
    {
        try Scenario.run {
            try $0.otherClientMakesDirectory(Scenario.key("d"))
            try $0.otherClientWrites(Scenario.key("d/f"), [0])
            try $0.otherClientWrites(Scenario.key("e"), [0])
        } _: { it in
            _ = try await it.read("d/f")
            _ = try await it.read("e")
            let file = try await it.find("d/f")
            try await it.open(file)
            try it.remote.otherClientDeletes(Scenario.key("d/f"))
            try it.remote.otherClientDeletes(Scenario.key("d"))
            try it.remote.otherClientWrites(Scenario.key("d"), [1])
            try it.remote.otherClientWrites(Scenario.key("e"), [2, 2])
            try await it.refresh()
            #expect(try await it.read("e") == [2, 2])
            it.engine.release(file, access: .write)
            #expect(try await it.rest())
            #expect(try await it.read("d") == [1])
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

    /// Method: a reader keeps the file open after its writer, and the process is killed then.
    @Test func `a file open for writing survives a deletion and a kill`() throws {
        try Scenario.run {
            try $0.otherClientMakesDirectory(Scenario.key("folder"))
            try $0.otherClientWrites(Scenario.key("folder/file"), [1, 2, 3])
        } _: { it in
            let file = try await it.find("folder/file")
            try await it.open(file)
            try await it.engine.retrying { () throws(Blocked) in
                try it.engine.open(file, access: .read, truncating: false)
            }
            #expect(try await it.read("folder/file") == [1, 2, 3])
            try it.remote.otherClientDeletesTree(Scenario.key("folder"))
            try await it.refresh()
            it.remote.setReachable(false)
            it.engine.release(file, access: .write)
            await it.mount.kill()
            try it.mount.check()
            it.remote.setReachable(true)
            try it.mount.start()
            #expect(try await it.rest())
            #expect(it.remoteBytes("folder/file") == [1, 2, 3])
        }
    }

    /// Goal: a partial file that is open for writing while another client renames its directory
    /// leaves nothing behind that can be neither read nor sent.
    ///
    /// Method: it is opened while the remote refuses reads, so that none of its bytes arrive.
    @Test(arguments: ["nothing", "dies", "writes", "writes for long", "makes another"])
    func `a file open for writing while another client renames its directory`(deed: String) throws {
        try Scenario.run {
            try $0.otherClientMakesDirectory(Scenario.key("folder"))
            try $0.otherClientMakesDirectory(Scenario.key("folder/below"))
            try $0.otherClientWrites(Scenario.key("folder/below/file"), [1, 2, 3])
            try $0.otherClientWrites(Scenario.key("folder/other"), [4])
        } _: { it in
            _ = try await it.read("folder/other")
            let file = try await it.find("folder/below/file")
            it.remote.refuse(.busy, attempts: "read")
            try await it.open(file)
            try it.remote.otherClientRenames(Scenario.key("folder"), to: Scenario.key("new"))
            try await it.refresh()
            it.remote.refuse(nil)
            #expect(try await it.names(in: "folder/below") == ["file"])
            #expect(try await it.names(in: "folder") == ["below"])
            let whole: [UInt8] = [7, 7, 7, 7]
            switch deed {
            case "dies":
                await it.mount.kill()
                try it.mount.check()
                try it.mount.start()
            case "writes", "writes for long":
                try await it.write(whole, at: 0, of: file)
                if deed == "writes for long" {
                    try await it.wait(.seconds(120))
                    #expect(it.remoteBytes("folder/below/file") == whole)
                }
                it.engine.release(file, access: .write)
            case "makes another":
                try await it.write("folder/another", [5])
                try await it.wait(.seconds(60))
                #expect(it.remoteBytes("folder/another") == [5])
                it.engine.release(file, access: .write)
            default:
                it.engine.release(file, access: .write)
            }
            #expect(try await it.rest())
            let all = ["new", "new/below", "new/below/file", "new/other"]
            switch deed {
            case "writes", "writes for long":
                #expect(it.remotePaths == ["folder", "folder/below", "folder/below/file"] + all)
                #expect(it.remoteBytes("folder/below/file") == whole)
            case "makes another": #expect(it.remotePaths == ["folder", "folder/another"] + all)
            default: #expect(it.remotePaths == all)
            }
            #expect(try await it.read("new/below/file") == [1, 2, 3])
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
            let path = try await it.engine.settleConflict(inode, keeping: .mine)
            #expect(path == "plan.txt")
            #expect(try await it.rest())
            #expect(it.remotePaths == ["plan.txt"])
            #expect(it.remoteBytes("plan.txt") == [1, 1])
            #expect(try it.status().conflicts.isEmpty)
            try await Self.expectInTrash("plan.txt", [2, 2, 2], it)
        }
    }

    @Test func `keeping theirs moves mine to the trash`() throws {
        try Self.quarrel { it, ours in
            _ = try await it.engine.settleConflict(try await it.find(ours), keeping: .theirs)
            #expect(try await it.rest())
            #expect(it.remotePaths == ["plan.txt"])
            #expect(it.remoteBytes("plan.txt") == [2, 2, 2])
            #expect(try it.status().conflicts.isEmpty)
            try await Self.expectInTrash(ours, [1, 1], it)
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
            let path = try await it.engine.settleConflict(
                try await it.find("plan.txt"), keeping: .both)
            #expect(path == ours)
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
