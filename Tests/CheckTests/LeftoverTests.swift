import Foundation
import Testing

@testable import Engine

/// Goal: a mount removes the leftovers of a killed process, except bytes that may be the only copy.
struct `A start over a state directory` {
    /// With inconsistencies of a damaged database or manual changes.
    @Test func `keeps bytes that may be the only copy`() async throws {
        let fixture = try StateFixture()
        try fixture.execute("UPDATE inodes SET presence = 0 WHERE id IN (3, 4)")
        try fixture.put("own", at: "content/03/3")
        try fixture.put("directory's", at: "content/2/2")
        try fixture.put("stray", at: "content/ef/1007")
        try fixture.put("", at: "content/empty")
        try fixture.put("clone", at: "frozen/4-1")
        try fixture.put("odd", at: "frozen/4-odd")
        let store = try Store(path: fixture.database)
        defer { store.close() }
        let engine = try fixture.engine(store)
        await engine.local.sweep.run()
        let kept = [
            "4": StateFixture.dirtyBytes, "content_03_3": "own", "2": "directory's",
            "1007": "stray", "frozen_4-odd": "odd",
        ]
        #expect(try fixture.lostAndFound() == kept)
        #expect(try engine.lostAndFoundCount() == kept.count)
        let left = try fixture.snapshot().keys
            .filter { $0.hasPrefix("content/") || $0.hasPrefix("frozen/") }
        #expect(Set(left) == ["content/6/6"], "content that the remote has is removed")
    }

    /// Goal: the same, although nothing waits for the comparison of content and database.
    @Test func `keeps bytes that may be the only copy of a file that is opened first`()
        async throws
    {
        let fixture = try StateFixture()
        try fixture.execute("UPDATE inodes SET presence = 0 WHERE id = 4")
        let store = try Store(path: fixture.database)
        defer { store.close() }
        let last = try #require(
            try store.read { database -> Int64? in
                try database.value("SELECT seq FROM sqlite_sequence WHERE name = 'inodes'")
            })
        let next = StateFiles.content(of: InodeNumber(rawValue: last + 1))
        try fixture.put("stray", at: next.description)
        let engine = try fixture.engine(store)
        try engine.open(InodeNumber(rawValue: 4), access: .write, truncating: false)
        engine.release(InodeNumber(rawValue: 4), access: .write)
        let name = FileName(stored: Array("new".utf8))
        let new = try engine.createFile(name, in: .root, mode: 0o644, caller: .test)
        #expect(new.inode.rawValue == last + 2)
        #expect(try engine.attributes(of: new.inode).size == 0)
        engine.release(new.inode, access: .write)
        #expect(try fixture.lostAndFound() == ["4": StateFixture.dirtyBytes])
        await engine.local.sweep.run()
        #expect(
            try fixture.lostAndFound() == [
                "4": StateFixture.dirtyBytes, "\(last + 1)": "stray",
            ])
    }

    @Test func `lets a partly local file be written anew whose changed bytes are lost`() throws {
        let fixture = try StateFixture()
        try fixture.execute("UPDATE inodes SET generation = generation + 1 WHERE id = 6")
        try fixture.put("short", at: "content/6/6")
        let store = try Store(path: fixture.database)
        defer { store.close() }
        let engine = try fixture.engine(store)
        let part = InodeNumber(rawValue: 6)
        #expect(throws: Blocked.self) {
            try engine.open(part, access: .read, truncating: false)
        }
        try engine.open(part, access: .write, truncating: true)
        try fixture.write("whole", to: part, engine)
        engine.release(part, access: .write)
        #expect(try engine.attributes(of: part).size == 5)
        #expect(try store.read { try $0.extents(of: part) } == ExtentSet())
    }

    @Test func `keeps the bytes of a named file, even if its link count is zero`() throws {
        let fixture = try StateFixture()
        try fixture.execute("UPDATE inodes SET links = 0 WHERE id = 4")
        #expect(try fixture.mountAndRead()["/docs/dirty.txt"] == StateFixture.dirtyBytes)
        #expect(try fixture.check().findings.map(\.kind) == [.links])
        #expect(try fixture.mountAndRead()["/docs/dirty.txt"] == StateFixture.dirtyBytes)
    }

    @Test func `leaves the bytes of an interrupted restore to the next mount`() throws {
        let fixture = try StateFixture()
        try fixture.execute(
            """
            INSERT INTO trash (inode, path, time, size, mode, uid, gid, modified, xattrs, restored)
            VALUES (998, x'61', 7, 4, 420, 0, 0, 0, x'', 999)
            """)
        try fixture.put("text", at: StateFiles.content(of: InodeNumber(rawValue: 999)).description)
        #expect(try fixture.check().findings.isEmpty)
        let store = try Store(path: fixture.database)
        defer { store.close() }
        _ = try fixture.engine(store)
        let left = try fixture.snapshot().keys.filter { $0.hasPrefix("trash/") }
        #expect(left.count == 1 && left.first?.hasSuffix("-998-a") == true, "\(left)")
    }

    @Test func `removes only its own files from the trash`() throws {
        let fixture = try StateFixture()
        let ours = "trash/0000000000000000001-4-old.txt"
        let others = ["trash/2-mine", "trash/notes.txt", "trash/box/0000000000000000001-4-x"]
        for name in [ours] + others { try fixture.put("text", at: name) }
        let store = try Store(path: fixture.database)
        defer { store.close() }
        let engine = try fixture.engine(store)
        try engine.local.trash.prune()
        let left = try fixture.snapshot().keys.filter { $0.hasPrefix("trash/") }
        #expect(Set(left) == Set(others))
    }
}
