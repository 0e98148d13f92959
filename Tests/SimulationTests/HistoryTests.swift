import GRDB
import Simulation
import Testing

@testable import Engine

/// Goal: a program that watches the tree learns of each change on either side exactly once, also if it
/// or the mount stops in between.
@Suite("The history of changes") struct HistoryTests {
    /// Returns the changes after a cursor so far, as `kind path`, and the cursor after them.
    private static func changes(
        after cursor: HistoryCursor, _ it: Scenario
    ) throws -> (lines: [String], cursor: HistoryCursor) {
        var (lines, cursor): ([String], HistoryCursor) = ([], cursor)
        while true {
            let next = try it.engine.history.changes(after: cursor)
            guard let last = next.last else { return (lines, cursor) }
            lines += next.map(\.change).map { change in
                let former = change.former.map { "\($0) " } ?? ""
                return "\(change.side) \(change.kind) \(former)\(change.path)"
            }
            cursor = last.cursor
        }
    }

    @Test func `has local changes in their order, and their uploads`() throws {
        try Scenario.run { it in
            let begin = try it.engine.history.present()
            try await it.makeDirectory("d")
            try await it.write("d/a", [1])
            #expect(try await it.rest())
            try await it.rename("d/a", to: "d/b")
            try await it.unlink("d/b")
            try await it.removeDirectory("d")
            #expect(
                try Self.changes(after: begin, it).lines == [
                    "local created d", "local created d/a", "local changed d/a", "local uploaded d",
                    "local uploaded d/a", "local moved d/a d/b", "local removed d/b",
                    "local removed d",
                ])
        }
    }

    @Test func `has what others put into a folder that both sides made`() throws {
        try Scenario.run { it in
            #expect(try await it.names(in: "") == [])
            let begin = try it.engine.history.present()
            it.remote.setReachable(false)
            try await it.makeDirectory("d")
            try await it.write("d/ours", [1])
            try it.remote.otherClientMakesDirectory(Scenario.key("d"))
            try it.remote.otherClientWrites(Scenario.key("d/theirs"), [2])
            it.remote.setReachable(true)
            #expect(try await it.rest())
            #expect(try await it.names(in: "d") == ["ours", "theirs"])
            let lines = try Self.changes(after: begin, it).lines
            #expect(lines.filter { $0 == "remote created d/theirs" }.count == 1, "\(lines)")
        }
    }

    @Test func `tells a file that is replaced by a move once`() throws {
        try Scenario.run { it in
            try await it.write("a", [1])
            try await it.write("b", [2])
            let begin = try it.engine.history.present()
            try await it.rename("b", to: "a")
            #expect(try Self.changes(after: begin, it).lines == ["local moved b a"])
        }
    }

    @Test func `has remote changes in known directories, and not what was there before`() throws {
        try Scenario.run { remote in
            try remote.otherClientMakesDirectory(Scenario.key("d"))
            try remote.otherClientWrites(Scenario.key("d/old"), [1])
        } _: { it in
            let begin = try it.engine.history.present()
            #expect(try await it.names(in: "d") == ["old"])
            try it.remote.otherClientWrites(Scenario.key("d/new"), [1])
            try await it.refresh("d")
            try it.remote.otherClientWrites(Scenario.key("d/old"), [2, 2])
            try await it.refresh("d")
            try it.remote.otherClientDeletes(Scenario.key("d/new"))
            try await it.refresh("d")
            #expect(
                try Self.changes(after: begin, it).lines == [
                    "remote created d/new", "remote changed d/old", "remote removed d/new",
                ])
        }
    }

    @Test func `tells both names of a conflict`() throws {
        try Scenario.run { it in
            let begin = try it.engine.history.present()
            try await it.write("a", [1])
            try it.remote.otherClientWrites(Scenario.key("a"), [2])
            #expect(try await it.rest())
            let lines = try Self.changes(after: begin, it).lines
            #expect(lines.contains { $0.hasPrefix("local conflict a a (conflict") }, "\(lines)")
            #expect(lines.contains("remote created a"), "\(lines)")
        }
    }

    /// Method: the database after a power cut may lack changes that were told; later ones have other
    /// positions all the same.
    /// Method: the start before the power cut is undone as well.
    @Test
    func `tells each change after a power cut soon after a start, or that some are not known`()
        throws
    {
        var settings = SimulatedMountSettings()
        settings.keepsDatabaseOnDisk = true
        try Scenario.run(settings: settings) { it in
            let begin = try it.engine.history.present()
            try await it.makeDirectory("kept")
            try it.engine.store.synchronize()
            await it.mount.kill()
            try it.mount.start()
            try await it.makeDirectory("lost")
            let cursor = try Self.changes(after: begin, it).cursor
            await it.mount.cutPower()
            try it.mount.start()
            for name in ["a", "b", "c"] { try await it.makeDirectory(name) }
            let known = try? Self.changes(after: cursor, it).lines.filter { $0.contains("created") }
            if let known { #expect(known == ["a", "b", "c"].map { "local created \($0)" }) }
        }
    }

    @Test(arguments: [false, true])
    func `goes on after a start with later positions`(isPowerCut: Bool) throws {
        var settings = SimulatedMountSettings()
        settings.keepsDatabaseOnDisk = isPowerCut
        try Scenario.run(settings: settings) { it in
            var cursor = try it.engine.history.present()
            try await it.makeDirectory("kept")
            try it.engine.store.synchronize()
            try await it.makeDirectory("new")
            cursor = try Self.changes(after: cursor, it).cursor
            if isPowerCut { await it.mount.cutPower() } else { await it.mount.kill() }
            try it.mount.start()
            try await it.makeDirectory("later")
            guard let (lines, end) = try? Self.changes(after: cursor, it) else {
                #expect(isPowerCut, "told changes may be undone, and their positions unknown")
                return
            }
            #expect(lines.filter { $0.contains("created") } == ["local created later"])
            #expect(end.position > cursor.position)
        }
    }

    @Test func `wakes a watcher, and ends with its task`() throws {
        try Scenario.run { it in
            let begin = try it.engine.history.present()
            async let changes = it.engine.history.next(after: begin)
            try await it.wait(.seconds(1))
            try await it.makeDirectory("d")
            #expect(try await changes.map(\.change.path.description) == ["d"])
            #expect(try await it.rest())
            let end = try it.engine.history.present()
            try await withThrowingTaskGroup(of: Bool.self) { group in
                group.addTask { try await it.engine.history.next(after: end).isEmpty }
                try await it.wait(.seconds(1))
                group.cancelAll()
                #expect(try await group.next() == true)
            }
        }
    }

    @Test func `knows no cursor of another history, and none of the future`() throws {
        try Scenario.run { it in
            let present = try it.engine.history.present()
            for cursor in [
                HistoryCursor(history: "other", position: present.position),
                HistoryCursor(history: present.history, position: present.position + 1),
            ] {
                await #expect(throws: HistoryRequests.Gap.self) {
                    try await it.engine.history.next(after: cursor)
                }
            }
            #expect(HistoryCursor(present.description) == present)
            for text in ["", "7", "a.", ".7", "a.-1", "a.1.2"] {
                #expect(HistoryCursor(text) == nil)
            }
        }
    }

    @Test func `is bounded, and tells which changes are gone`() throws {
        try Scenario.run { it in
            let begin = try it.engine.history.present()
            try it.engine.store.write { database in
                try database.run(
                    """
                    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 101999)
                    INSERT INTO history (time, kind, side, path) SELECT 0, 0, 0, x'61' FROM n
                    """)
            }
            // Each thousandth change removes older ones.
            try await it.makeDirectory("last")
            let count = try it.engine.store.read {
                try $0.value("SELECT count(*) FROM history") ?? 0
            }
            #expect(count == Database.historyMax)
            await #expect(throws: HistoryRequests.Gap.self) {
                try await it.engine.history.next(after: begin)
            }
            let oldest = HistoryCursor(history: begin.history, position: begin.position + 2_000)
            #expect(try await it.engine.history.next(after: oldest).count == 1_000)
        }
    }

    @Test func `ends a week after the last watch`() throws {
        try Scenario.run { it in
            let begin = try it.engine.history.present()
            it.mount.clock.jumpWall(by: .seconds(6 * 86_400))
            await it.mount.kill()
            try it.mount.start()
            try await it.makeDirectory("a")
            #expect(try await it.engine.history.next(after: begin).count == 1)
            it.mount.clock.jumpWall(by: .seconds(8 * 86_400))
            await it.mount.kill()
            try it.mount.start()
            #expect(try it.engine.store.read { try !$0.isRecorded })
            await #expect(throws: HistoryRequests.Gap.self) {
                try await it.engine.history.next(after: begin)
            }
        }
    }
}
