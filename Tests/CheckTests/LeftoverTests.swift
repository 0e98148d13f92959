import Foundation
import Testing

@testable import Engine

/// Goal: a mount removes what a killed process leaves, and no bytes of which it does not know that
/// they are elsewhere too.
struct `A start over a state directory` {
    /// Whatever a damaged database or somebody's hand has made of it.
    @Test func `keeps bytes that nobody is known to have`() throws {
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
        #expect(Set(left) == ["content/6/6"], "what the remote has goes")
    }

    @Test func `keeps the bytes of a file that has a name, whatever its link count says`() throws {
        let fixture = try StateFixture()
        try fixture.execute("UPDATE inodes SET links = 0 WHERE id = 4")
        #expect(try fixture.mountAndRead()["/docs/dirty.txt"] == StateFixture.dirtyBytes)
        #expect(try fixture.check().findings.map(\.kind) == [.links])
        #expect(try fixture.mountAndRead()["/docs/dirty.txt"] == StateFixture.dirtyBytes)
    }

    @Test func `clears of the trash only what went there by itself`() throws {
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
