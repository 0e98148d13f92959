import Simulation
import Testing

@testable import Engine

@Suite("Deletions in bulk")
struct DeletionTests {
    private static func fill(_ remote: SimulatedProvider, count: Int) throws {
        for index in 0..<count { try remote.otherClientWrites(Scenario.key("f\(index)"), [1, 2]) }
    }

    @Test func `on the remote are held, listed, and go through once confirmed`() throws {
        try Scenario.run {
            try Self.fill($0, count: 200)
        } _: { it in
            _ = try await it.names(in: "")
            _ = try await it.read("f0")
            for index in 0..<150 {
                try it.remote.otherClientDeletes(Scenario.key("f\(index)"))
            }
            try await it.refresh()
            try await it.wait(.seconds(5))
            #expect(try await it.names(in: "").count == 200)
            #expect(try await it.read("f0") == [1, 2], "what is here stays readable")
            let status = try it.status()
            #expect(status.pending.held == 150)
            #expect(status.pending.isSettled, "nothing is left to send")
            #expect(status.items.allSatisfy { $0.failure?.remedy != nil })

            let confirmed = try it.engine.confirmDeletions()
            #expect(confirmed.here == HeldDeletions(items: 150))
            #expect(try await it.rest())
            #expect(try await it.names(in: "").count == 50)
        }
    }

    @Test func `on the remote come back where the remote has them again`() throws {
        try Scenario.run {
            try Self.fill($0, count: 200)
        } _: { it in
            _ = try await it.names(in: "")
            for index in 0..<150 {
                try it.remote.otherClientDeletes(Scenario.key("f\(index)"))
            }
            try await it.refresh()
            try await it.wait(.seconds(5))
            #expect(try it.status().pending.held == 150)
            try Self.fill(it.remote, count: 150)
            try await it.refresh()
            #expect(try await it.rest())
            #expect(try it.status().pending.held == 0)
            #expect(try await it.names(in: "").count == 200)
        }
    }

    @Test func `on the remote of a whole directory keep what was changed in it`() throws {
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
            #expect(try it.engine.confirmDeletions().here == held)
            #expect(try it.engine.heldDeletions(below: .root) == HeldDeletions())
            #expect(try await it.rest())
            #expect(try await it.names(in: "d") == ["f3"])
            #expect(it.remotePaths == ["d", "d/f3"])
        }
    }

    @Test func `on the remote of one folder, again and again, are no deletion in bulk`() throws {
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

    @Test func `on the remote do not count what the remote never had`() throws {
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

    @Test func `on the remote that were whole here are in the trash`() throws {
        try Scenario.run {
            try $0.otherClientWrites(Scenario.key("photo.jpg"), [5, 6, 7])
        } _: { it in
            _ = try await it.read("photo.jpg")
            try it.remote.otherClientDeletes(Scenario.key("photo.jpg"))
            try await it.refresh()
            #expect(try await it.names(in: "") == [])
            let trash = try it.mount.disk.files(below: Engine.trashFolder)
            try #require(trash.count == 1)
            #expect(trash[0].description.hasSuffix("-photo.jpg"))
            #expect(try it.mount.disk.open(trash[0]).status().size == 3)
        }
    }

    @Test(arguments: 1...20)
    func `on the remote are in the trash with all they had, wherever the process dies`(
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
            let trash = try it.mount.disk.files(below: Engine.trashFolder)
            try #require(trash.count == 1)
            #expect(try it.mount.disk.open(trash[0]).read(4, at: 0) == [5, 6, 7])
            let attributes = try #require(it.mount.disk.extendedAttributes(of: trash[0]))
            #expect(attributes.names == [Array("user.note".utf8)])
            #expect(attributes[Array("user.note".utf8)] == Array("blue".utf8))
            #expect(try it.engine.store.read { try $0.discardedInodes() } == [])
        }
    }

    @Test func `on the remote are in the trash once, although somebody goes on reading`() throws {
        try Scenario.run {
            try $0.otherClientWrites(Scenario.key("photo.jpg"), [5, 6, 7])
        } _: { it in
            _ = try await it.read("photo.jpg")
            let inode = try await it.find("photo.jpg")
            try await it.engine.completing { () throws(Halt) in
                try it.engine.open(inode, access: .read, truncating: false)
            }
            try it.remote.otherClientDeletes(Scenario.key("photo.jpg"))
            try await it.refresh()
            let copies = try it.mount.disk.files(below: Engine.trashFolder)
            #expect(copies.count == 1)
            await it.mount.kill()
            try it.mount.start()
            #expect(try it.mount.disk.files(below: Engine.trashFolder) == copies)
            #expect(try it.mount.disk.open(copies[0]).read(4, at: 0) == [5, 6, 7])
        }
    }

    @Test func `made here rest for a minute, or until they are confirmed`() throws {
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

    @Test func `of names that come back at once are none`() throws {
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

    @Test func `made here rest again after a kill, and go out at once when confirmed`() throws {
        try Scenario.run {
            try Self.fill($0, count: 300)
        } _: { it in
            _ = try await it.names(in: "")
            for index in 0..<250 { try await it.unlink("f\(index)") }
            await it.mount.kill()
            try it.mount.start()
            try await it.wait(.seconds(30))
            #expect(it.remotePaths.count >= 300 - 101)
            _ = try it.engine.confirmDeletions()
            #expect(try await it.rest(within: .seconds(20)))
            #expect(it.remotePaths.count == 50)
        }
    }
}
