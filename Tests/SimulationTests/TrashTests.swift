import Simulation
import Testing

@testable import Engine

/// Goal: what the remote has deleted can be found and brought back, whatever happens meanwhile.
@Suite("The trash") struct TrashTests {
    /// Files that are here, and that the remote has deleted; the last step of the deletion is over.
    private static func run(
        seed: UInt64 = 1, _ paths: [String] = ["d/a", "d/e/b", "c"],
        _ body: @escaping @Sendable (Scenario) async throws -> Void
    ) throws {
        try Scenario.run(seed: seed) { remote in
            for folder in ["d", "d/e"] {
                try remote.otherClientMakesDirectory(Scenario.key(folder))
            }
            for path in paths { try remote.otherClientWrites(Scenario.key(path), bytes(path)) }
        } _: { it in
            for path in paths {
                #expect(try await it.read(path) == bytes(path))
                let inode = try await it.find(path)
                try it.engine.setExtendedAttribute(
                    Array("user.of".utf8), to: bytes(path), of: inode)
                var change = AttributeChange()
                change.mode = 0o640
                change.modified = .at(Timestamp(seconds: 1_000_000, nanoseconds: 7))
                _ = try it.engine.setAttributes(of: inode, to: change)
            }
            #expect(try await it.rest())
            for name in ["c", "d"] { try it.remote.otherClientDeletesTree(Scenario.key(name)) }
            try await it.refresh()
            #expect(try await it.rest())
            try await it.wait(.seconds(11))
            try await body(it)
        }
    }

    private static func bytes(_ path: String) -> [UInt8] { Array("bytes of \(path)".utf8) }

    private static func expectWhole(_ path: String, of former: String, _ it: Scenario) async throws
    {
        #expect(try await it.read(path) == bytes(former))
        let inode = try await it.find(path)
        let attributes = try await it.engine.retrying { () throws(Blocked) in
            try it.engine.attributes(of: inode)
        }
        #expect(attributes.mode == 0o640)
        #expect(attributes.modified == Timestamp(seconds: 1_000_000, nanoseconds: 7))
        let kept = try await it.engine.retrying { () throws(Blocked) in
            try it.engine.extendedAttributes(of: inode)
        }
        #expect(kept[Array("user.of".utf8)] == bytes(former))
    }

    private static func trashed(_ it: Scenario, below path: String = "") throws -> [String] {
        try it.engine.trash.files(below: path, after: 0, limit: 1_000).files.map(\.path).sorted()
    }

    @discardableResult
    private static func restore(
        _ path: String, to folder: String? = nil, isAll: Bool = false, _ it: Scenario
    ) async throws -> [TrashRequests.Outcome] {
        var outcomes: [TrashRequests.Outcome] = []
        try await it.engine.trash.restore(below: path, to: folder, isAll: isAll) {
            outcomes.append($0)
        }
        return outcomes
    }

    private static func isEmpty(_ it: Scenario) throws -> Bool {
        try it.mount.disk.files(below: StateFiles.trashFolder).isEmpty
            && !it.engine.store.read { try $0.hasRow("trash") }
    }

    // MARK: Listing

    @Test func `lists files with their former paths, in pages`() throws {
        try Self.run { it in
            #expect(try Self.trashed(it) == ["c", "d/a", "d/e/b"])
            #expect(try Self.trashed(it, below: "d") == ["d/a", "d/e/b"])
            #expect(try Self.trashed(it, below: "d/e/b") == ["d/e/b"])
            #expect(try Self.trashed(it, below: "d/") == ["d/a", "d/e/b"])
            #expect(try Self.trashed(it, below: "x") == [])
            let first = try it.engine.trash.files(below: "", after: 0, limit: 2)
            let next = try #require(first.next)
            let rest = try it.engine.trash.files(below: "", after: next, limit: 2)
            #expect(Set((first.files + rest.files).map(\.path)) == ["c", "d/a", "d/e/b"])
            #expect(rest.next == nil)
            let file = try #require(first.files.first)
            #expect(file.size == UInt64(Self.bytes(file.path).count))
            #expect(file.end.seconds - file.deleted.seconds == 30 * 86_400)
        }
    }

    @Test func `forgets files whose time is over, or that someone has removed`() throws {
        try Self.run { it in
            let path = try #require(
                try it.mount.disk.files(below: StateFiles.trashFolder).first {
                    $0.description.hasSuffix("-c")
                })
            try it.mount.disk.remove(path)
            #expect(try Self.trashed(it) == ["d/a", "d/e/b"])
            try it.engine.local.trash.prune()
            let rows = try it.engine.store.read { try $0.trash(below: .root, after: 0, limit: 9) }
            #expect(rows.count == 2)
            for row in rows {
                var old = row
                old.time = Timestamp(nanoseconds: row.time.nanoseconds - Trash.ageMax - 1)
                try it.mount.disk.move(Trash.path(of: row), to: Trash.path(of: old))
                try it.engine.store.write { try $0.insertTrash(old) }
            }
            try it.engine.local.trash.prune()
            #expect(try Self.isEmpty(it))
        }
    }

    /// Goal: the trash never takes much of the disk.
    @Test func `keeps the newest files, within a tenth of the bound of the cache`() throws {
        var settings = SimulatedMountSettings()
        settings.engine.cacheBytesMax = 100_000
        let names = (0..<5).map { "f\($0)" }
        let bytes = [UInt8](repeating: 1, count: 3_000)
        try Scenario.run(settings: settings) { remote in
            for name in names { try remote.otherClientWrites(Scenario.key(name), bytes) }
        } _: { it in
            for name in names { #expect(try await it.read(name) == bytes) }
            for name in names {
                try it.remote.otherClientDeletes(Scenario.key(name))
                try await it.refresh()
                #expect(try await it.rest())
                try await it.wait(.seconds(11))
            }
            let kept = try Self.trashed(it)
            #expect((1...3).contains(kept.count) && kept == Array(names.suffix(kept.count)))
            let disk = it.mount.disk
            let taken = try disk.files(below: StateFiles.trashFolder).map { path in
                let status = try disk.status(of: path)
                return try #require(status).allocatedBytes
            }
            #expect(taken.count == kept.count && taken.reduce(0, +) <= 10_000)
        }
    }

    /// Goal: files that an earlier version has moved to the trash can be restored too.
    @Test func `takes in files that it does not know`() throws {
        try Self.run { it in
            try it.engine.store.write { try $0.run("DELETE FROM trash") }
            try it.engine.local.trash.prune()
            #expect(try Self.trashed(it) == ["a", "b", "c"])
            try await Self.restore("b", it)
            #expect(try await it.read("b") == Self.bytes("d/e/b"))
        }
    }

    // MARK: Restoring

    @Test func `gives a file back with all that it had, and it is uploaded`() throws {
        try Self.run(["c"]) { it in
            let outcomes = try await Self.restore("c", it)
            #expect(outcomes.map(\.result) == [.restored(to: "c", isRenamed: false)])
            try await Self.expectWhole("c", of: "c", it)
            #expect(try Self.isEmpty(it))
            #expect(try await it.rest())
            #expect(it.remoteBytes("c") == Self.bytes("c"))
            // As any other file: its bytes can be evicted and fetched.
            _ = try it.engine.evict(try await it.find("c"))
            try await Self.expectWhole("c", of: "c", it)
        }
    }

    @Test func `gives a folder back, with the folders in it`() throws {
        try Self.run { it in
            #expect(try await it.names(in: "") == [])
            let outcomes = try await Self.restore("d", it)
            #expect(
                outcomes.map(\.path).sorted() == ["d/a", "d/e/b"])
            for path in ["d/a", "d/e/b"] { try await Self.expectWhole(path, of: path, it) }
            #expect(try Self.trashed(it) == ["c"])
            #expect(try await it.rest())
            #expect(it.remotePaths == ["d", "d/a", "d/e", "d/e/b"])
        }
    }

    @Test func `puts what was in a folder into another one`() throws {
        try Self.run { it in
            try await Self.restore("d/e", to: "x/y", it)
            try await Self.expectWhole("x/y/e/b", of: "d/e/b", it)
            #expect(try await it.names(in: "x/y") == ["e"])
            try await Self.restore("d/a", to: "", it)
            try await Self.expectWhole("a", of: "d/a", it)
        }
    }

    @Test func `replaces nothing: a free name is chosen`() throws {
        try Self.run { it in
            try await it.write("c", [1])
            try await it.write("d", [2])
            let file = try #require(try await Self.restore("c", it).first)
            guard case .restored(let place, isRenamed: true) = file.result else {
                Issue.record("\(file)")
                return
            }
            #expect(place.hasPrefix("c (restored "))
            try await Self.expectWhole(place, of: "c", it)
            #expect(try await it.read("c") == [1])
            // What was in a folder comes back together, beside the file that has the folder's name.
            try await Self.restore("d", it)
            let folder = try #require(
                try await it.names(in: "").first { $0.hasPrefix("d (restored ") })
            #expect(try await it.names(in: folder) == ["a", "e"])
            try await Self.expectWhole("\(folder)/e/b", of: "d/e/b", it)
            #expect(try await it.read("d") == [2])
        }
    }

    /// Goal: a folder is as it was before the deletion, and not as it was long ago.
    @Test func `gives back what was deleted last, and of several versions the last`() throws {
        try Self.run(["c"]) { it in
            for (index, path) in ["old", "c"].enumerated() {
                try await it.wait(.seconds(index * 90))
                try it.remote.otherClientWrites(Scenario.key(path), [UInt8(index)])
                try await it.refresh()
                #expect(try await it.read(path) == [UInt8(index)])
                try it.remote.otherClientDeletes(Scenario.key(path))
                try await it.refresh()
            }
            try await it.wait(.seconds(11))
            #expect(try Self.trashed(it) == ["c", "c", "old"])
            try await Self.restore("", it)
            let names = try await it.names(in: "")
            #expect(names == ["c"])
            #expect(try await it.read("c") == [1])
            #expect(try Self.trashed(it) == ["c", "old"])
            try await Self.restore("", isAll: true, it)
            #expect(try await it.names(in: "").count == 3)
            #expect(try await it.read("c") == [1])
            #expect(try await it.read("old") == [0])
            #expect(try Self.isEmpty(it))
        }
    }

    @Test func `says that nothing of a path is in it, and leaves open files alone`() throws {
        try Self.run(["c"]) { it in
            let error = await #expect(throws: EngineError.self) { try await Self.restore("x", it) }
            #expect(error?.kind == .notFound)
            try it.remote.otherClientWrites(Scenario.key("open"), [5])
            try await it.refresh()
            #expect(try await it.read("open") == [5])
            let inode = try await it.find("open")
            try await it.engine.retrying { () throws(Blocked) in
                try it.engine.open(inode, access: .read, truncating: false)
            }
            try it.remote.otherClientDeletes(Scenario.key("open"))
            try await it.refresh()
            #expect(try Self.trashed(it) == ["c", "open"])
            let outcome = try #require(try await Self.restore("open", it).first)
            guard case .failed(let failure) = outcome.result else {
                Issue.record("\(outcome)")
                return
            }
            #expect(failure.why.contains("open"))
            it.engine.release(inode, access: .read)
            try await Self.restore("open", it)
            #expect(try await it.read("open") == [5])
        }
    }

    @Test func `gives back at once what has just been deleted`() throws {
        try Self.run(["c"]) { it in
            try it.remote.otherClientWrites(Scenario.key("new"), [5])
            try await it.refresh()
            #expect(try await it.read("new") == [5])
            try it.remote.otherClientDeletes(Scenario.key("new"))
            try await it.refresh()
            try await Self.restore("new", it)
            #expect(try await it.read("new") == [5])
        }
    }

    /// Goal: at no moment neither the trash nor the tree has the bytes.
    @Test(arguments: 1...30, [false, true])
    func `loses nothing of a restore, wherever the process dies or the power fails`(
        step: Int, isPowerCut: Bool
    ) throws {
        try Self.run { it in
            it.mount.life.dieBeforeStep(step)
            _ = try? await Self.restore("", it)
            if isPowerCut { await it.mount.cutPower() } else { await it.mount.kill() }
            try it.mount.start()
            try await it.refresh()
            let left = try Self.trashed(it)
            for path in ["c", "d/a", "d/e/b"] where !left.contains(path) {
                try await Self.expectWhole(path, of: path, it)
            }
            #expect(try it.engine.lostAndFoundCount() == 0)
            if !left.isEmpty { try await Self.restore("", isAll: true, it) }
            for path in ["c", "d/a", "d/e/b"] {
                try await Self.expectWhole(path, of: path, it)
            }
            #expect(try Self.isEmpty(it))
            #expect(try await it.rest())
            #expect(it.remotePaths == ["c", "d", "d/a", "d/e", "d/e/b"])
        }
    }

    /// Goal: bytes that a power cut may have torn do not get into the trash.
    @Test func `gets bytes that are on the disk only`() throws {
        try Scenario.run {
            try $0.otherClientWrites(Scenario.key("c"), [5, 6, 7])
        } _: { it in
            #expect(try await it.read("c") == [5, 6, 7])
            try it.remote.otherClientDeletes(Scenario.key("c"))
            try await it.refresh()
            #expect(try it.mount.disk.files(below: StateFiles.trashFolder) == [])
            #expect(try Self.trashed(it) == ["c"])
            try await it.wait(.seconds(11))
            #expect(try it.mount.disk.files(below: StateFiles.trashFolder).count == 1)
            await it.mount.cutPower()
            try it.mount.start()
            try await Self.restore("c", it)
            #expect(try await it.read("c") == [5, 6, 7])
        }
    }
}
