import Foundation
import Testing

@testable import Engine

/// Goal: a mount removes the leftovers of a killed process, except bytes that may be the only copy.
struct `A start over a state directory` {
    /// With inconsistencies of a damaged database or manual changes.
    @Test func `keeps bytes that may be the only copy`() throws {
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

    @Test func `keeps the bytes of a named file, even if its link count is zero`() throws {
        let fixture = try StateFixture()
        try fixture.execute("UPDATE inodes SET links = 0 WHERE id = 4")
        #expect(try fixture.mountAndRead()["/docs/dirty.txt"] == StateFixture.dirtyBytes)
        #expect(try fixture.check().findings.map(\.kind) == [.links])
        #expect(try fixture.mountAndRead()["/docs/dirty.txt"] == StateFixture.dirtyBytes)
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
