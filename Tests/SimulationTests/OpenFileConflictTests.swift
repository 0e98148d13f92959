import Simulation
import Testing

@testable import Engine

@Suite("Changes on the remote of files that are open for writing")
struct OpenFileConflictTests {
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
}
