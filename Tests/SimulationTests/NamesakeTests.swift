import Simulation
import Testing

@testable import Engine

/// A remote that takes names for one that differ in case or Unicode form.
@Suite("Namesakes")
struct NamesakeTests {
    private static func settings(
        decomposesNames: Bool = false, movesFilesAtOnce: Bool = true,
        movesDirectoriesAtOnce: Bool = true
    ) -> SimulatedMountSettings {
        var settings = SimulatedMountSettings()
        settings.provider.names = .caseless
        settings.provider.decomposesNames = decomposesNames
        settings.provider.movesFilesAtOnce = movesFilesAtOnce
        settings.provider.movesDirectoriesAtOnce = movesDirectoriesAtOnce
        return settings
    }

    /// Waits until everything that can be sent is sent.
    private static func waitForFailure(of name: String, _ it: Scenario) async throws -> SyncFailure
    {
        for _ in 0..<600 {
            let items = try it.status().items
            if items.count == 1, let failure = items[0].failure, failure.isFinal { return failure }
            try await it.wait(.milliseconds(500))
        }
        throw ProgramFailure("no failure of \"\(name)\": \(try it.status().items)")
    }

    /// Goal: the second name does not replace the first one's bytes on the remote, nor is it taken
    /// for deleted there.
    @Test func `keeps a second name here, and says why`() throws {
        try Scenario.run(settings: Self.settings()) { it in
            try await it.write("a.txt", [1])
            #expect(try await it.rest())
            try await it.write("A.txt", [2, 2])
            let failure = try await Self.waitForFailure(of: "A.txt", it)
            #expect(failure.what.contains("A.txt"))
            #expect(failure.why.contains("a.txt"))
            try await it.refresh()
            try await it.wait(.seconds(60))
            #expect(try await it.names(in: "") == ["A.txt", "a.txt"])
            #expect(try await it.read("a.txt") == [1])
            #expect(try await it.read("A.txt") == [2, 2])
            #expect(it.remotePaths == ["a.txt"])
            #expect(it.remoteBytes("a.txt") == [1])
            try await it.rename("A.txt", to: "b.txt")
            #expect(try await it.rest(within: .seconds(30)))
            #expect(it.remotePaths == ["a.txt", "b.txt"])
            #expect(it.remoteBytes("b.txt") == [2, 2])
        }
    }

    @Test func `sends the second name as soon as the first one is removed`() throws {
        try Scenario.run(settings: Self.settings()) { it in
            try await it.write("a.txt", [1])
            #expect(try await it.rest())
            try await it.write("A.txt", [2, 2])
            _ = try await Self.waitForFailure(of: "A.txt", it)
            try await it.unlink("a.txt")
            #expect(try await it.rest(within: .seconds(20)))
            #expect(it.remotePaths.count == 1)
            #expect(it.remoteBytes("a.txt") == [2, 2])
            try await it.refresh()
            #expect(try await it.names(in: "") == ["A.txt"])
            #expect(try await it.read("A.txt") == [2, 2])
        }
    }

    @Test func `removes the second name alone`() throws {
        try Scenario.run(settings: Self.settings()) { it in
            try await it.write("a.txt", [1])
            #expect(try await it.rest())
            try await it.write("A.txt", [2, 2])
            _ = try await Self.waitForFailure(of: "A.txt", it)
            try await it.unlink("A.txt")
            // As `apus sync` does, which would report an old failure.
            try it.engine.hasten(below: [.root])
            #expect(try it.status().items.allSatisfy { $0.failure == nil })
            #expect(try await it.rest())
            try await it.refresh()
            #expect(it.remoteBytes("a.txt") == [1])
            #expect(try await it.read("a.txt") == [1])
        }
    }

    /// Goal: a directory that cannot move until one below it has left says so, instead of waiting in
    /// silence.
    ///
    /// Method: it moves into a directory that is below it on the remote, and whose own parent cannot
    /// leave it.
    @Test func `names the second name to a directory that waits for it`() throws {
        try Scenario.run(settings: Self.settings()) { it in
            try await it.write("B", [1])
            for path in ["outer", "outer/inner", "outer/inner/deep"] {
                try await it.makeDirectory(path)
            }
            #expect(try await it.rest())
            try await it.rename("outer/inner", to: "b")
            try await it.rename("outer", to: "b/deep/outer")
            var items: [PendingItem] = []
            for _ in 0..<600 where items.count != 2 || items.contains(where: { $0.failure == nil })
            {
                try await it.wait(.milliseconds(500))
                items = try it.status().items
            }
            let outer = try #require(items.first { $0.path == "b/deep/outer" })
            #expect(outer.failure?.what == "wait for \"b\"")
            #expect(outer.failure?.isFinal == true)
            try await it.rename("b", to: "free")
            #expect(try await it.rest(within: .seconds(60)))
            #expect(it.remotePaths == ["B", "free", "free/deep", "free/deep/outer"])
        }
    }

    /// Method: the store moves files and directories in one step, or copies and then deletes, also
    /// if the answers are lost.
    @Test(arguments: [true, false], [true, false])
    func `renames a file or directory in case only`(isAtOnce: Bool, losesAnswers: Bool) throws {
        try Scenario.run(
            settings: Self.settings(movesFilesAtOnce: isAtOnce, movesDirectoriesAtOnce: isAtOnce)
        ) { it in
            try await it.write("a.txt", [1])
            try await it.makeDirectory("dir")
            try await it.write("dir/file", [2])
            #expect(try await it.rest())
            if losesAnswers { it.remote.setFaults(SimulatedProviderFaults(.unreachableAfter, 0.5)) }
            try await it.rename("a.txt", to: "A.txt")
            try await it.rename("dir", to: "Dir")
            #expect(try await it.rest())
            it.remote.setFaults(SimulatedProviderFaults())
            #expect(it.remotePaths == ["A.txt", "Dir", "Dir/file"])
            try await it.refresh()
            #expect(try await it.names(in: "") == ["A.txt", "Dir"])
            #expect(try await it.read("A.txt") == [1])
            #expect(try await it.read("Dir/file") == [2])
        }
    }

    /// Goal: a file that has stepped aside does not wait for ever for the place of another client's file.
    ///
    /// Method: it is to replace a file that the other client changes meanwhile.
    @Test func `keeps a name here that another client takes, if the file has stepped aside`() throws
    {
        try Scenario.run(settings: Self.settings()) { it in
            try await it.write("b.txt", [1])
            try await it.write("a.txt", [9])
            #expect(try await it.rest())
            it.remote.refuse(.busy, attempts: "move \"apus-moving-")
            try await it.rename("b.txt", to: "B.txt")
            for _ in 0..<10_000 where it.remotePaths.allSatisfy({ !$0.hasPrefix("apus-moving-") }) {
                try await it.wait(.milliseconds(1))
            }
            try await it.unlink("a.txt")
            try await it.rename("B.txt", to: "A.txt")
            try it.remote.otherClientWrites(Scenario.key("a.txt"), [2, 2])
            // Long enough for the request that is on its way.
            try await it.wait(.seconds(2))
            it.remote.refuse(nil)
            let failure = try await Self.waitForFailure(of: "A.txt", it)
            #expect(failure.why.contains("a.txt"))
            #expect(try await it.read("A.txt") == [1])
            #expect(try await it.read("a.txt") == [2, 2])
            try await it.rename("A.txt", to: "b.txt")
            #expect(try await it.rest(within: .seconds(30)))
            #expect(it.remotePaths == ["a.txt", "b.txt"])
            #expect(it.remoteBytes("a.txt") == [2, 2])
            #expect(it.remoteBytes("b.txt") == [1])
        }
    }

    /// Goal: a name that the store lists in another form than it was given is the same file: not
    /// deleted, nor created again.
    @Test func `recognises a name that the remote spells otherwise`() throws {
        let name = "\u{E9}t\u{E9}"
        try Scenario.run(settings: Self.settings(decomposesNames: true)) { it in
            try await it.write(name, [1])
            try await it.makeDirectory("\u{C9}")
            try await it.write("\u{C9}/\u{E8}", [2])
            #expect(try await it.rest())
            let inode = try await it.find(name)
            try await it.refresh()
            try await it.refresh("\u{C9}")
            #expect(try it.status().pending.isSettled)
            #expect(try await it.find(name) == inode)
            #expect(try await it.names(in: "").count == 2)
            // Another client changes it under the name that it sees.
            let decomposed = Scenario.key("e\u{301}te\u{301}")
            try it.remote.otherClientWrites(decomposed, [3, 3])
            try await it.refresh()
            #expect(try await it.read(name) == [3, 3])
            try it.remote.otherClientDeletes(decomposed)
            try await it.refresh()
            #expect(try await it.names(in: "") == ["\u{C9}"])
        }
    }

    private static var unknown: SimulatedMountSettings {
        var settings = settings()
        settings.provider.tellsNames = false
        return settings
    }

    /// Goal: nothing is lost even if it is not known that the remote folds names.
    @Test func `keeps a second name here if the remote turns out to take it for the first`() throws
    {
        try Scenario.run(settings: Self.unknown) { it in
            try await it.write("a.txt", [1])
            try await it.makeDirectory("folder")
            try await it.write("folder/file", [2])
            #expect(try await it.rest())
            try await it.write("A.txt", [1])
            try await it.makeDirectory("Folder")
            try await it.wait(.seconds(60))
            let failed = try it.status().items.filter { $0.failure?.isFinal == true }
            #expect(Set(failed.map(\.path)) == ["A.txt", "Folder"])
            #expect(failed.allSatisfy { $0.failure?.remedy?.contains("names=caseless") == true })
            // No contents of the other folder have come here.
            #expect(try await it.names(in: "Folder").isEmpty)
            try await it.unlink("A.txt")
            try await it.removeDirectory("Folder")
            #expect(try await it.rest())
            #expect(it.remotePaths == ["a.txt", "folder", "folder/file"])
            #expect(try await it.names(in: "") == ["a.txt", "folder"])
        }
    }

    /// Goal: the only object is not taken for the original of a copy.
    ///
    /// Method: the store renames in case only, and its answers are lost.
    @Test(arguments: [true, false])
    func `deletes no object that two names lead to, if the answer to a rename is lost`(
        isAtOnce: Bool
    ) throws {
        var settings = Self.unknown
        settings.provider.movesFilesAtOnce = isAtOnce
        try Scenario.run(settings: settings) { it in
            try await it.write("a.txt", [1])
            #expect(try await it.rest())
            it.remote.setReachable(false)
            try await it.rename("a.txt", to: "A.txt")
            let inode = try await it.find("A.txt")
            // The request arrived, and nothing of it came back.
            try it.remote.otherClientRenames(Scenario.key("a.txt"), to: Scenario.key("A.txt"))
            try it.engine.store.write { database in
                let synced = try #require(try database.synced(inode))
                try database.setIntent(
                    IntentRecord(
                        parent: .root, name: FileName(stored: Array("A.txt".utf8)),
                        size: synced.size, mode: synced.mode,
                        extendedAttributes: synced.extendedAttributes, modified: synced.modified,
                        generation: synced.generation, replaced: nil),
                    of: inode)
            }
            it.remote.setReachable(true)
            #expect(try await it.rest())
            #expect(it.remotePaths == ["A.txt"])
            #expect(it.remoteBytes("A.txt") == [1])
            #expect(try await it.read("A.txt") == [1])
        }
    }

    /// Goal: a mount that took such names for two files, and learns better, deletes neither.
    @Test func `deletes nothing once it learns that two names are one`() throws {
        var settings = Self.settings()
        settings.provider.tellsNames = false
        let mount = try SimulatedMount(seed: 1, settings: settings)
        try mount.run {
            try mount.start()
            let it = Scenario(mount: mount)
            try await it.write("a.txt", [1])
            #expect(try await it.rest())
            let inode = try await it.find("a.txt")
            // As an engine would that believes a `stat` under another spelling.
            try mount.engine.store.write { database in
                var twin = try #require(try database.inode(inode))
                twin.presence = .remote
                try database.insert(&twin)
                let name = FileName(stored: Array("A.txt".utf8))
                try database.insertDirent(
                    name, in: .root, to: twin, on: nil, at: twin.changed)
                var synced = try #require(try database.synced(inode))
                synced.name = name
                try database.insertSynced(synced, of: twin.id)
                let doubled = try database.setNameMatching(.caseless)
                #expect(doubled == [twin.id])
            }
            try await it.unlink("A.txt")
            #expect(try await it.rest())
            #expect(it.remoteBytes("a.txt") == [1])
            #expect(try await it.read("a.txt") == [1])
        }
    }
}
