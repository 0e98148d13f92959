import Simulation
import Testing

@testable import Engine

@Suite("Deletions in bulk")
struct DeletionTests {
    private static func fill(_ remote: SimulatedProvider, count: Int) throws {
        for index in 0..<count { try remote.otherClientWrites(Scenario.key("f\(index)"), [1, 2]) }
    }

    /// Of 200 files that were known here the remote has deleted 150, which has just been seen.
    ///
    /// - Parameter path: A file whose bytes are here.
    private static func runHeld(
        reading path: String? = nil, _ body: @escaping @Sendable (Scenario) async throws -> Void
    ) throws {
        try Scenario.run {
            try fill($0, count: 200)
        } _: { it in
            _ = try await it.names(in: "")
            if let path { _ = try await it.read(path) }
            for index in 0..<150 {
                try it.remote.otherClientDeletes(Scenario.key("f\(index)"))
            }
            try await it.refresh()
            try await body(it)
        }
    }

    @Test func `on the remote are held, listed, and applied once confirmed`() throws {
        try Self.runHeld(reading: "f0") { it in
            try await it.wait(.seconds(5))
            #expect(try await it.names(in: "").count == 200)
            #expect(try await it.read("f0") == [1, 2], "local bytes stay readable")
            let status = try it.status()
            #expect(status.pending.held == 150)
            #expect(status.pending.isSettled, "nothing is left to send")
            #expect(status.items.allSatisfy { $0.failure?.remedy != nil })

            let confirmed = try await it.engine.deletions.confirm()
            #expect(confirmed.here == HeldDeletions(items: 150))
            try await it.engine.deletions.awaitConfirmed(within: .seconds(5))
            #expect(try await it.names(in: "").count == 50)
            #expect(try await it.rest())
            #expect(try await it.names(in: "").count == 50)
        }
    }

    /// Method: nothing is carried out, as while the remote cannot be reached.
    @Test func `on the remote are awaited for a limited time`() throws {
        try Self.runHeld { it in
            try await it.wait(.seconds(5))
            it.engine.local.agenda.setPaused(true)
            _ = try await it.engine.deletions.confirm()
            let start = it.engine.clock.uptime
            try await it.engine.deletions.awaitConfirmed(within: .seconds(5))
            #expect(it.engine.clock.uptime - start == .seconds(5))
            #expect(try await it.names(in: "").count == 200)
            it.engine.local.agenda.setPaused(false)
        }
    }

    /// Goal: a sync counts what is to be sent, and leaves the held deletions alone.
    @Test func `on the remote stay held during a sync, and are not counted as changes`() throws {
        try Self.runHeld { it in
            try await it.wait(.seconds(5))
            try await it.write("new", [7])
            try it.engine.hasten(below: [.root])
            let pending = try it.status().pending
            #expect(pending.count == 1 && pending.bytes == 1 && pending.held == 150)
            try await it.wait(.seconds(5))
            #expect(it.remoteBytes("new") == [7])
            #expect(try it.status().pending.held == 150)
        }
    }

    @Test func `on the remote are cancelled if the files reappear there`() throws {
        try Self.runHeld { it in
            try await it.wait(.seconds(5))
            #expect(try it.status().pending.held == 150)
            try Self.fill(it.remote, count: 150)
            try await it.refresh()
            #expect(try await it.rest())
            #expect(try it.status().pending.held == 0)
            #expect(try await it.names(in: "").count == 200)
        }
    }

    @Test func `on the remote of a whole directory keep local changes in it`() throws {
        try Scenario.run {
            try $0.otherClientMakesDirectory(Scenario.key("d"))
            for index in 0..<150 {
                try $0.otherClientWrites(Scenario.key("d/f\(index)"), [1])
            }
        } _: { it in
            _ = try await it.names(in: "d")
            for index in 0..<150 {
                try it.remote.otherClientDeletes(Scenario.key("d/f\(index)"))
            }
            try it.remote.otherClientDeletes(Scenario.key("d"))
            try await it.refresh()
            try await it.wait(.seconds(5))
            #expect(try it.status().pending.held == 1)
            let held = HeldDeletions(items: 151, directories: 1, itemsInDirectories: 150)
            #expect(try it.engine.heldDeletions(below: .root) == held)
            #expect(try it.engine.heldDeletions(below: try await it.find("d/f3")).items == 0)
            try await it.write("d/f3", [7])
            try await it.wait(.seconds(30))
            #expect(try await it.names(in: "d").count == 150)
            let confirmed = try await it.engine.deletions.confirm()
            #expect(confirmed.here == held)
            #expect(confirmed.released == 1, "that of the directory")
            #expect(try it.engine.heldDeletions(below: .root) == HeldDeletions())
            #expect(try await it.rest())
            #expect(try await it.names(in: "d") == ["f3"])
            #expect(it.remotePaths == ["d", "d/f3"])
        }
    }

    /// Goal: a change that waits for the confirmation of a deletion has not failed: `fsync` stores
    /// it on the disk.
    @Test func `on the remote of a whole directory do not fail an fsync in it`() throws {
        try Scenario.run {
            try $0.otherClientMakesDirectory(Scenario.key("d"))
            for index in 0..<150 {
                try $0.otherClientWrites(Scenario.key("d/f\(index)"), [1])
            }
        } _: { it in
            _ = try await it.names(in: "d")
            try it.remote.otherClientDeletesTree(Scenario.key("d"))
            try await it.refresh()
            try await it.write("d/new", [7])
            try await it.wait(.seconds(5))
            let new = try await it.find("d/new")
            #expect(try it.engine.item(new).failure?.kind == .busy)
            #expect(throws: Never.self) { try it.engine.synchronize(new) }
            _ = try await it.engine.deletions.confirm()
            #expect(try await it.rest())
            #expect(it.remotePaths == ["d", "d/new"])
        }
    }

    @Test func `on the remote of one folder, repeatedly, are not a bulk deletion`() throws {
        try Scenario.run {
            try $0.otherClientMakesDirectory(Scenario.key("d"))
            try $0.otherClientWrites(Scenario.key("d/f"), [1])
        } _: { it in
            for round in 1...60 {
                _ = try await it.names(in: "d")
                try await it.write("d/f", [2, UInt8(round)])
                try it.remote.otherClientDeletesTree(Scenario.key("d"))
                try await it.refresh()
                try #require(try await it.rest(within: .seconds(50)), "round \(round)")
                try #require(it.remoteBytes("d/f") == [2, UInt8(round)])
            }
            #expect(try it.status().pending.held == 0)
        }
    }

    @Test func `on the remote do not count files that were never there`() throws {
        try Scenario.run {
            try $0.otherClientMakesDirectory(Scenario.key("d"))
            try $0.otherClientWrites(Scenario.key("d/f"), [1])
        } _: { it in
            _ = try await it.names(in: "d")
            it.remote.setReachable(false)
            for index in 0..<150 { try await it.write("d/new\(index)", [2]) }
            try it.remote.otherClientDeletesTree(Scenario.key("d"))
            it.remote.setReachable(true)
            try await it.refresh()
            #expect(try await it.rest())
            #expect(it.remotePaths.count == 151)
            #expect(try await it.names(in: "d").count == 150)
        }
    }

    @Test func `on the remote of files that are completely local go to the trash`() throws {
        try Scenario.run {
            try $0.otherClientWrites(Scenario.key("photo.jpg"), [5, 6, 7])
        } _: { it in
            _ = try await it.read("photo.jpg")
            try it.remote.otherClientDeletes(Scenario.key("photo.jpg"))
            try await it.refresh()
            #expect(try await it.names(in: "") == [])
            try await it.wait(.seconds(6))
            let trash = try it.mount.disk.files(below: StateFiles.trashFolder)
            try #require(trash.count == 1)
            #expect(trash[0].description.hasSuffix("-photo.jpg"))
            #expect(try it.mount.disk.open(trash[0]).status().size == 3)
        }
    }

    @Test(arguments: 1...20)
    func `on the remote go to the trash with all attributes, wherever the process dies`(
        step: Int
    ) throws {
        try Scenario.run {
            try $0.otherClientWrites(Scenario.key("photo.jpg"), [5, 6, 7])
            try $0.otherClientSets(
                Array("user.note".utf8), of: Scenario.key("photo.jpg"), to: Array("blue".utf8))
        } _: { it in
            _ = try await it.read("photo.jpg")
            try it.remote.otherClientDeletes(Scenario.key("photo.jpg"))
            it.mount.life.dieBeforeStep(step)
            // It may die before that.
            try? await it.refresh()
            await it.mount.kill()
            try it.mount.start()
            try await it.refresh()
            #expect(try await it.names(in: "") == [])
            let trash = try it.mount.disk.files(below: StateFiles.trashFolder)
            try #require(trash.count == 1)
            #expect(try it.mount.disk.open(trash[0]).read(4, at: 0) == [5, 6, 7])
            let attributes = try #require(it.mount.disk.extendedAttributes(of: trash[0]))
            #expect(attributes.names == [Array("user.note".utf8)])
            #expect(attributes[Array("user.note".utf8)] == Array("blue".utf8))
            #expect(try !it.engine.store.read { try $0.hasRow("discarded") })
        }
    }

    @Test func `on the remote go to the trash once no program reads them`() throws {
        try Scenario.run {
            try $0.otherClientWrites(Scenario.key("photo.jpg"), [5, 6, 7])
        } _: { it in
            _ = try await it.read("photo.jpg")
            let inode = try await it.find("photo.jpg")
            try await it.engine.retrying { () throws(Blocked) in
                try it.engine.open(inode, access: .read, truncating: false)
            }
            try it.remote.otherClientDeletes(Scenario.key("photo.jpg"))
            try await it.refresh()
            #expect(try it.mount.disk.files(below: StateFiles.trashFolder) == [])
            await it.mount.kill()
            try it.mount.start()
            try await it.refresh()
            let trash = try it.mount.disk.files(below: StateFiles.trashFolder)
            try #require(trash.count == 1)
            #expect(try it.mount.disk.open(trash[0]).read(4, at: 0) == [5, 6, 7])
        }
    }

    @Test func `on the remote are held at once, without a request for each`() throws {
        try Self.runHeld { it in
            let items = try it.status().items
            #expect(items.count == 150)
            #expect(items.allSatisfy { $0.failure?.remedy != nil })
        }
    }

    /// A folder with 90 files, and folders in it, that the remote deletes; few enough not to be held.
    private static func runSteps(
        _ body: @escaping @Sendable (Scenario) async throws -> Void
    ) throws {
        var settings = SimulatedMountSettings()
        settings.engine.removalsMax = 7
        try Scenario.run(settings: settings) {
            for folder in ["d", "d/e", "d/e/g"] {
                try $0.otherClientMakesDirectory(Scenario.key(folder))
                for index in 0..<30 {
                    try $0.otherClientWrites(Scenario.key("\(folder)/f\(index)"), [1, 2])
                }
            }
        } _: { it in
            for folder in ["d", "d/e", "d/e/g"] {
                _ = try await it.names(in: folder)
                _ = try await it.read("\(folder)/f3")
            }
            try it.remote.otherClientDeletesTree(Scenario.key("d"))
            try await body(it)
        }
    }

    @Test func `on the remote are applied in steps, with other work in between`() throws {
        try Self.runSteps { it in
            let directory = try await it.find("d/e/g")
            try await it.refresh()
            var counts: Set<Int> = []
            for _ in 0..<1_000 {
                counts.insert(try it.engine.store.read { try $0.children(of: directory).count })
                await Task.yield()
            }
            #expect(counts.isSuperset(of: [30, 0]), "\(counts)")
            #expect(counts.contains { (1..<30).contains($0) }, "\(counts)")
            #expect(try await it.rest())
            #expect(try await it.names(in: "") == [])
            try await it.wait(.seconds(6))
            #expect(try it.mount.disk.files(below: StateFiles.trashFolder).count == 3)
            #expect(try it.mount.disk.files(below: StateFiles.contentFolder) == [])
        }
    }

    @Test(arguments: 1...60)
    func `on the remote continue at the next start, wherever the process dies`(step: Int) throws {
        try Self.runSteps { it in
            try await it.write("d/e/f3", [7])
            it.mount.life.dieBeforeStep(step)
            try? await it.refresh()
            try? await it.wait(.seconds(5))
            await it.mount.kill()
            try it.mount.start()
            try await it.refresh()
            #expect(try await it.rest())
            #expect(it.remotePaths == ["d", "d/e", "d/e/f3"])
            #expect(try await it.names(in: "d") == ["e"])
            #expect(try await it.names(in: "d/e") == ["f3"])
            #expect(try await it.read("d/e/f3") == [7])
            let trash = try it.mount.disk.files(below: StateFiles.trashFolder)
            #expect(trash.count == 2)
            for path in trash {
                #expect(try it.mount.disk.open(path).read(3, at: 0) == [1, 2])
            }
            #expect(try !it.engine.store.read { try $0.hasRow("discarded") })
        }
    }

    @Test(arguments: [nil] + (1...40).map { $0 })
    func `on the remote of a folder replaced by a file continue, wherever the process dies`(
        step: Int?
    ) throws {
        try Self.runSteps { it in
            try it.remote.otherClientWrites(Scenario.key("d"), [9])
            if let step { it.mount.life.dieBeforeStep(step) }
            try? await it.refresh()
            try? await it.wait(.seconds(5))
            if step != nil {
                await it.mount.kill()
                try it.mount.start()
                try await it.refresh()
            }
            #expect(try await it.rest())
            #expect(try await it.names(in: "") == ["d"])
            #expect(try await it.read("d") == [9])
            #expect(it.remotePaths == ["d"])
            #expect(try it.mount.disk.files(below: StateFiles.trashFolder).count == 3)
        }
    }

    /// Method: the tasks of the engine begin in another order for each seed.
    @Test(arguments: 1...10)
    func `here leave no bytes of files that were open when the process died`(seed: UInt64) throws {
        try Scenario.run(seed: seed) { it in
            _ = try await it.names(in: "")
            it.remote.setReachable(false)
            for index in 0..<30 {
                try await it.write("f\(index)", [1])
                try await it.open(try await it.find("f\(index)"))
                try await it.unlink("f\(index)")
            }
            await it.mount.kill()
            try it.mount.start()
            let contents = { try it.mount.disk.files(below: StateFiles.contentFolder).count }
            #expect(try contents() == 30, "the start does not wait for it")
            try await it.wait(.seconds(1))
            #expect(try contents() == 0)
            it.remote.setReachable(true)
            #expect(try await it.rest())
            #expect(try it.engine.store.read { try $0.inodes(where: "links = 0", limit: 1) } == [])
        }
    }

    @Test func `skip open files, and files being removed cannot be opened`() throws {
        try Scenario.run {
            try Self.fill($0, count: 2)
        } _: { it in
            _ = try await it.names(in: "")
            let (open, other) = (try await it.find("f0"), try await it.find("f1"))
            try await it.open(open)
            let engine = it.engine
            try engine.local.files.withUnused([open, other]) { unused throws(Blocked) in
                #expect(unused == [other])
                let refusal = #expect(throws: Blocked.self) {
                    try engine.open(other, access: .read, truncating: false)
                }
                guard case .failure(let failure) = refusal else {
                    Issue.record("it is not refused")
                    return
                }
                #expect(failure.kind == .changedRemotely)
                try engine.local.files.withUnused([other]) { #expect($0 == []) }
            }
            engine.release(open, access: .write)
            #expect(try await it.read("f1") == [1, 2])
        }
    }

    /// Method: opened before the deletion, by one program or two.
    @Test(arguments: [1, 2])
    func `of an open file free its bytes once the last program closes it`(programs: Int) throws {
        try Scenario.run { it in
            try await it.write("a", [1, 2, 3])
            #expect(try await it.rest())
            let inode = try await it.find("a")
            for _ in 0..<programs { try await it.open(inode) }
            try await it.unlink("a")
            #expect(try await it.rest())
            let content = StateFiles.content(of: inode)
            let isHere = { try it.mount.disk.status(of: content) != nil }
            for _ in 0..<programs {
                try await it.wait(.seconds(60))
                #expect(try isHere())
                it.engine.release(inode, access: .write)
            }
            try await it.wait(.seconds(60))
            #expect(try !isHere())
        }
    }

    @Test func `made here are held for a minute or until they are confirmed`() throws {
        try Scenario.run {
            try Self.fill($0, count: 300)
        } _: { it in
            _ = try await it.names(in: "")
            for index in 0..<250 { try await it.unlink("f\(index)") }
            try await it.wait(.seconds(50))
            #expect(it.remotePaths.count >= 300 - 101, "few went out before it was a burst")
            #expect(try it.status().items.contains { $0.failure?.kind == .busy })
            #expect(try await it.rest())
            #expect(it.remotePaths.count == 50)
        }
    }

    @Test func `made here one after the other are held until their number is known`() throws {
        try Scenario.run {
            try Self.fill($0, count: 900)
        } _: { it in
            _ = try await it.names(in: "")
            for index in 0..<450 {
                try await it.unlink("f\(index)")
                try await it.wait(.milliseconds(40))
            }
            #expect(it.remotePaths.count >= 900 - 101)
            #expect(try await it.rest())
            #expect(it.remotePaths.count == 450)
        }
    }

    @Test func `of names that are recreated at once do not happen`() throws {
        try Scenario.run {
            try Self.fill($0, count: 300)
        } _: { it in
            _ = try await it.names(in: "")
            for index in 0..<250 { try await it.unlink("f\(index)") }
            for index in 5..<250 { try await it.write("f\(index)", [9]) }
            #expect(try await it.rest(within: .seconds(30)))
            #expect(it.remotePaths.count == 295)
        }
    }

    @Test func `made here are held again after a kill, and sent at once when confirmed`() throws {
        try Scenario.run {
            try Self.fill($0, count: 300)
        } _: { it in
            _ = try await it.names(in: "")
            for index in 0..<250 { try await it.unlink("f\(index)") }
            await it.mount.kill()
            try it.mount.start()
            try await it.wait(.seconds(30))
            #expect(it.remotePaths.count >= 300 - 101)
            _ = try await it.engine.deletions.confirm()
            #expect(try await it.rest(within: .seconds(20)))
            #expect(it.remotePaths.count == 50)
        }
    }

    /// Goal: the record of a lost answer does not outlast the file that the remote has deleted since.
    /// Method: an empty file, whose row stays until the database is safe, and a kill before that.
    @Test func `of a file whose last answer was lost leaves a sound state`() throws {
        try Scenario.run { it in
            let key = Scenario.key("d/file")
            try await it.makeDirectory("d")
            try await it.write("d/file", [])
            #expect(try await it.rest())
            it.remote.setFaults(SimulatedProviderFaults(.unreachableAfter, 1))
            var change = AttributeChange()
            change.mode = 0o600
            _ = try it.engine.setAttributes(of: try await it.find("d/file"), to: change)
            for _ in 0..<100 where it.remote.attributes()[key]?.mode != 0o600 {
                try await it.wait(.milliseconds(200))
            }
            it.remote.refuse(.unreachable, attempts: "stat \"d")
            it.remote.setFaults(SimulatedProviderFaults())
            try it.remote.otherClientDeletesTree(Scenario.key("d"))
            try await it.refresh()
            #expect(try await it.names(in: "") == [])
            await it.mount.kill()
            try it.mount.check()
        }
    }
}
