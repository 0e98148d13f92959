import Simulation
import Testing

@testable import Engine

/// Goal: a bulk deletion by mistake, on either side, is undone with one command.
@Suite("Rejected deletions") struct RejectedDeletionTests {
    private static let names = (0..<200).map { "f\($0)" }

    /// - Parameter here: The files whose bytes are here.
    private static func run(
        here: Int = 0, _ body: @escaping @Sendable (Scenario) async throws -> Void
    ) throws {
        try Scenario.run { remote in
            for name in names { try remote.otherClientWrites(Scenario.key(name), bytes(name)) }
        } _: { it in
            _ = try await it.names(in: "")
            for name in names.prefix(here) { #expect(try await it.read(name) == bytes(name)) }
            try await body(it)
        }
    }

    private static func bytes(_ name: String) -> [UInt8] { Array("bytes of \(name)".utf8) }

    // MARK: On the remote

    @Test func `on the remote are sent again, except files that are not whole here`() throws {
        try Self.run(here: 140) { it in
            let gone = Array(Self.names.prefix(150))
            for name in gone { try it.remote.otherClientDeletes(Scenario.key(name)) }
            try await it.refresh()
            #expect(try it.status().pending.held == 150)
            let rejected = try await it.engine.deletions.reject()
            #expect(rejected.sentAgain == 140)
            #expect(rejected.left == 10 && rejected.broughtBack == 0)
            #expect(Set(rejected.leftPaths) == Set(gone.suffix(10)))
            try await it.wait(.seconds(30))
            #expect(it.remotePaths.count == 190)
            for name in gone.prefix(140) { #expect(it.remoteBytes(name) == Self.bytes(name)) }
            #expect(try await it.names(in: "").count == 200)
            let status = try it.status()
            #expect(status.pending.held == 10 && status.pending.isSettled)
            let held = status.items.compactMap(\.failure)
            #expect(held.count == 10)
            #expect(held.allSatisfy { $0.why.contains("not all of its bytes") && $0.remedy != nil })
            // A sync does not release them.
            try it.engine.hasten(below: [.root])
            try await it.wait(.seconds(30))
            #expect(try it.status().items.compactMap(\.failure) == held)

            // What is put back there is released, and the rest goes once it is confirmed.
            try it.remote.otherClientWrites(Scenario.key("f145"), Self.bytes("f145"))
            try await it.refresh()
            _ = try await it.engine.deletions.confirm()
            #expect(try await it.rest())
            #expect(try await it.names(in: "").count == 191)
            #expect(try await it.read("f145") == Self.bytes("f145"))
        }
    }

    /// 150 files, a link and folders in a folder, all of which the remote deletes.
    private static func runTree(
        _ body: @escaping @Sendable (Scenario) async throws -> Void
    ) throws {
        var settings = SimulatedMountSettings()
        settings.engine.removalsMax = 7
        try Scenario.run(settings: settings) { remote in
            for folder in ["d", "d/e", "d/e/g", "d/empty", "d/unseen"] {
                try remote.otherClientMakesDirectory(Scenario.key(folder))
            }
            for index in 0..<50 {
                for folder in ["d", "d/e", "d/e/g"] {
                    let path = "\(folder)/f\(index)"
                    try remote.otherClientWrites(Scenario.key(path), bytes(path))
                }
            }
        } _: { it in
            for folder in ["d", "d/e", "d/e/g", "d/empty"] {
                for name in try await it.names(in: folder) where name.hasPrefix("f") && name != "f0"
                {
                    _ = try await it.read("\(folder)/\(name)")
                }
            }
            try it.remote.otherClientDeletesTree(Scenario.key("d"))
            try await body(it)
        }
    }

    private static func expectSentAgain(_ it: Scenario) async throws {
        for folder in ["d", "d/e", "d/e/g"] {
            for index in 1..<50 {
                let path = "\(folder)/f\(index)"
                #expect(it.remoteBytes(path) == bytes(path))
                #expect(try await it.read(path) == bytes(path))
            }
            #expect(try await it.names(in: folder).contains("f0"))
        }
        #expect(it.remotePaths.count == 5 + 147)
        let status = try it.status()
        #expect(status.pending.held == 3 && status.pending.isSettled)
        #expect(Set(status.items.map(\.path)) == ["d/f0", "d/e/f0", "d/e/g/f0"])
    }

    @Test func `on the remote of a tree are sent again with their folders`() throws {
        try Self.runTree { it in
            try await it.refresh()
            #expect(try it.engine.heldDeletions(below: .root).items == 155)
            // Meanwhile one is removed here, another one changed, and one moved out.
            try await it.unlink("d/e/f2")
            let rejected = try await it.engine.deletions.reject()
            #expect(rejected.sentAgain == 151)
            #expect(rejected.left == 3)
            try await it.wait(.seconds(60))
            #expect(it.remoteBytes("d/e/f2") == nil)
            #expect(it.remotePaths.count == 5 + 146)
            #expect(try await it.names(in: "d/e").count == 50)
            #expect(try await it.names(in: "d/unseen") == [])
            // They are the remote's again: a deletion there is one of a few files.
            try it.remote.otherClientDeletes(Scenario.key("d/e/f3"))
            try await it.refresh("d/e")
            #expect(try await it.names(in: "d/e").count == 49)
        }
    }

    @Test(arguments: 1...40)
    func `on the remote of a tree lose nothing, wherever the process dies`(step: Int) throws {
        try Self.runTree { it in
            try await it.refresh()
            it.mount.life.dieBeforeStep(step * 3)
            _ = try? await it.engine.deletions.reject()
            try? await it.wait(.seconds(1))
            await it.mount.kill()
            try it.mount.start()
            try await it.refresh()
            _ = try await it.engine.deletions.reject()
            try await it.wait(.seconds(120))
            try await Self.expectSentAgain(it)
        }
    }

    // MARK: Here

    @Test func `here are undone: the items appear again`() throws {
        try Self.run(here: 120) { it in
            for name in Self.names.prefix(150) { try await it.unlink(name) }
            try await it.wait(.seconds(10))
            #expect(it.remotePaths.count == 200, "they are held")
            #expect(try await it.names(in: "").count == 50)
            let rejected = try await it.engine.deletions.reject()
            #expect(rejected == RejectedDeletions(broughtBack: 150))
            #expect(try await it.rest())
            #expect(try await it.names(in: "").count == 200)
            for name in Self.names { #expect(try await it.read(name) == Self.bytes(name)) }
            try await it.wait(.seconds(120))
            #expect(it.remotePaths.count == 200)
            // The next deletion is none of that burst.
            try await it.unlink("f0")
            #expect(try await it.rest(within: .seconds(30)))
            #expect(it.remotePaths.count == 199)
        }
    }

    @Test func `here stay undone if the remote is listed before they are back`() throws {
        try Self.run { it in
            for name in Self.names.prefix(150) { try await it.unlink(name) }
            try await it.wait(.seconds(10))
            #expect(it.remotePaths.count == 200, "they are held")
            // The listing comes between the undoing and the planning of each.
            try it.engine.store.write { database in
                let first = InodeNumber(rawValue: 0)
                _ = try database.undoDeletions(after: first, limit: 1_000)
            }
            try await it.refresh()
            _ = try await it.engine.deletions.confirm()
            #expect(try await it.rest())
            #expect(it.remotePaths.count == 200)
            #expect(try await it.names(in: "").count == 200)
        }
    }

    @Test func `here of a tree bring back its folders, also empty ones`() throws {
        try Self.runTreeHere { it in
            let rejected = try await it.engine.deletions.reject()
            #expect(rejected.broughtBack == 154)
            #expect(try await it.rest())
            try await Self.expectTree(it)
        }
    }

    @Test(arguments: 1...40)
    func `here of a tree stay undone, wherever the process dies`(step: Int) throws {
        try Self.runTreeHere { it in
            it.mount.life.dieBeforeStep(step)
            _ = try? await it.engine.deletions.reject()
            try? await it.wait(.milliseconds(100))
            await it.mount.kill()
            try it.mount.start()
            try await it.wait(.seconds(2))
            _ = try await it.engine.deletions.reject()
            #expect(try await it.rest())
            try await Self.expectTree(it)
        }
    }

    private static func runTreeHere(
        _ body: @escaping @Sendable (Scenario) async throws -> Void
    ) throws {
        var settings = SimulatedMountSettings()
        settings.engine.mergedEntriesMax = 7
        try Scenario.run(settings: settings) { remote in
            for folder in ["d", "d/e", "d/e/g", "d/empty"] {
                try remote.otherClientMakesDirectory(Scenario.key(folder))
            }
            for index in 0..<50 {
                for folder in ["d", "d/e", "d/e/g"] {
                    let path = "\(folder)/f\(index)"
                    try remote.otherClientWrites(Scenario.key(path), bytes(path))
                }
            }
        } _: { it in
            for folder in ["d", "d/e", "d/e/g", "d/empty"] { _ = try await it.names(in: folder) }
            for folder in ["d/empty", "d/e/g", "d/e", "d"] {
                for name in try await it.names(in: folder) where name.hasPrefix("f") {
                    try await it.unlink("\(folder)/\(name)")
                }
                try await it.removeDirectory(folder)
            }
            try await it.wait(.seconds(10))
            #expect(try await it.names(in: "") == [])
            #expect(it.remotePaths.count == 154)
            try await body(it)
        }
    }

    private static func expectTree(_ it: Scenario) async throws {
        #expect(it.remotePaths.count == 154)
        #expect(try await it.names(in: "d").count == 52)
        #expect(try await it.names(in: "d/empty") == [])
        for folder in ["d", "d/e", "d/e/g"] {
            for index in 0..<50 {
                let path = "\(folder)/f\(index)"
                #expect(try await it.read(path) == bytes(path))
            }
        }
        try await it.wait(.seconds(120))
        #expect(it.remotePaths.count == 154)
    }

    @Test func `here are left alone if none is held`() throws {
        try Self.run { it in
            it.remote.setReachable(false)
            for name in Self.names.prefix(50) { try await it.unlink(name) }
            #expect(try await it.engine.deletions.reject() == RejectedDeletions())
            it.remote.setReachable(true)
            #expect(try await it.rest())
            #expect(it.remotePaths.count == 150)
        }
    }
}
