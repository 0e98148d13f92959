import Foundation
import GRDB
import Simulation
import Testing

@testable import Engine

@Suite("The file of a state database") struct StateDatabaseTests {
    private let fixture: StateFixture

    init() throws {
        fixture = try StateFixture()
    }

    private func overwrite(_ range: Range<Int>) throws {
        // Pages that SQLite still finds in its log are not damaged.
        try fixture.execute("PRAGMA user_version")
        var bytes = try Data(contentsOf: URL(filePath: fixture.database))
        for index in range where index < bytes.count { bytes[index] = 0x5A }
        try bytes.write(to: URL(filePath: fixture.database))
    }

    private func condition() throws -> StateDatabase.Condition {
        try StateDatabase.condition(ofFileAt: fixture.database, thoroughly: true)
    }

    @Test func `is sound after use by the engine`() throws {
        #expect(try condition() == .sound)
    }

    @Test func `of a newer version is not opened or changed`() throws {
        try fixture.execute("INSERT INTO grdb_migrations VALUES ('99')")
        let before = try fixture.snapshot()
        #expect(try condition() == .newer)
        let error = #expect(throws: EngineError.self) { _ = try Store(path: fixture.database) }
        #expect(error?.kind == .damaged)
        #expect(error?.attempt.hasSuffix("a newer version of Apus made it") == true)
        #expect(try fixture.snapshot() == before)
    }

    /// Goal: its pending changes are not lost, as by a check that saves only the known rows.
    @Test(arguments: [
        "CREATE TABLE attempts (inode INTEGER PRIMARY KEY)",
        "UPDATE grdb_migrations SET identifier = '9' WHERE identifier = 'v1'",
    ])
    func `of a version before the first release is not opened, saved or changed`(
        sql: String
    ) throws {
        try fixture.execute(sql)
        let before = try fixture.snapshot()
        #expect(try condition() == .older)
        let error = try #require(throws: EngineError.self) { _ = try Store(path: fixture.database) }
        #expect(error.kind == .damaged)
        #expect(error.attempt.contains("\(fixture.database)\": a version of Apus from before"))
        #expect(error.remedy?.contains("may not be uploaded yet") == true)
        #expect(throws: EngineError.self) { _ = try StateDatabase.copy(ofFileAt: fixture.database) }
        #expect(throws: EngineError.self) {
            _ = try DatabaseRescue.rescue(fixture.database, into: fixture.path + "/saved")
        }
        #expect(try fixture.snapshot() == before)
    }

    @Test func `enforces its foreign keys on each connection`() throws {
        let store = try Store(path: fixture.database)
        let sql = "PRAGMA foreign_keys"
        #expect(try store.read { try Bool.fetchOne($0, sql: sql) } == true)
        #expect(try store.write { try Bool.fetchOne($0, sql: sql) } == true)
        #expect(throws: Blocked.self) {
            try store.write { try $0.deleteInode(InodeNumber(rawValue: 4)) }
        }
        #expect(throws: Blocked.self) {
            try store.write { try $0.execute(sql: "UPDATE inodes SET links = -1 WHERE id = 4") }
        }
    }

    @Test func `knows the length of a file that was being written`() throws {
        let dirty = InodeNumber(rawValue: 4)
        let before = try StateDatabase.pendingSummary(ofFileAt: fixture.database)
        #expect(before.bytes == UInt64(StateFixture.dirtyBytes.utf8.count))
        let store = try Store(path: fixture.database)
        let engine = try fixture.engine(store)
        try engine.open(dirty, access: .write, truncating: false)
        try fixture.write(StateFixture.dirtyBytes + ", and more", to: dirty, engine)
        // As a killed daemon leaves it, which has closed nothing.
        store.close()
        let after = try StateDatabase.pendingSummary(ofFileAt: fixture.database)
        #expect(after.count == before.count)
        #expect(after.bytes == before.bytes + 10)
    }

    @Test func `that is not a database is not opened or changed`() throws {
        try overwrite(0..<100)
        let before = try fixture.snapshot()
        #expect(try condition() == .damaged("file is not a database"))
        let error = #expect(throws: EngineError.self) { _ = try Store(path: fixture.database) }
        #expect(error?.kind == .damaged)
        #expect(error?.remedy?.contains("apus check") == true)
        #expect(try fixture.snapshot() == before)
    }

    @Test func `of another program is not opened or changed`() throws {
        try FileManager.default.removeItem(atPath: fixture.database)
        try fixture.execute("CREATE TABLE recipes (name TEXT)")
        let before = try fixture.snapshot()
        #expect(throws: EngineError.self) { _ = try Store(path: fixture.database) }
        #expect(try fixture.snapshot() == before)
    }

    /// Method: a thousand inodes over many pages, and a few pages in the middle overwritten.
    @Test func `that is partly damaged is partly saved`() throws {
        try fixture.execute(
            """
            WITH RECURSIVE n (i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
            INSERT INTO inodes (id, kind, mode, uid, gid, links, size, modified, changed, target,
                presence, generation, writing, listed, accessed)
            SELECT i, 2, 511, 0, 0, 1, 50, 0, 0, randomblob(50), 0, 0, 0, 0, 0 FROM n;
            UPDATE inodes SET id = 9000 WHERE id = 3000;
            UPDATE sqlite_sequence SET seq = 9000 WHERE name = 'inodes';
            DELETE FROM inodes WHERE id = 9000;
            """)
        let page = try pages(of: "inodes")
        let first = page[page.count / 2]
        try overwrite((first - 1) * 4096..<(first + 2) * 4096)
        guard case .damaged = try condition() else {
            Issue.record("the damage is not seen")
            return
        }
        let saved = fixture.path + "/saved"
        let tables = try DatabaseRescue.rescue(fixture.database, into: saved)
        let inodes = try #require(tables.first { $0.name == "inodes" })
        #expect(!inodes.isWhole)
        #expect((2_000..<2_909).contains(inodes.rows))
        let last = try StateDatabase.reader(saved).read {
            try Int.fetchOne($0, sql: "SELECT seq FROM sqlite_sequence WHERE name = 'inodes'")
        }
        #expect(last == 9_000, "numbers of removed inodes are not given again")
        #expect(tables.filter { !$0.isWhole }.map(\.name) == ["inodes"])
        #expect(try StateDatabase.condition(ofFileAt: saved, thoroughly: true) == .sound)
    }

    /// Goal: no loss is reported for a table without rows.
    @Test func `that is damaged loses nothing in tables without rows`() throws {
        try fixture.execute("DELETE FROM conflicts; DELETE FROM intents")
        let root = try StateDatabase.reader(fixture.database).read {
            try Int.fetchOne(
                $0, sql: "SELECT rootpage FROM sqlite_master WHERE name = 'dirents'")
        }
        let page = try #require(root)
        try overwrite((page - 1) * 4096..<page * 4096)
        let tables = try DatabaseRescue.rescue(fixture.database, into: fixture.path + "/saved")
        #expect(tables.count == 19)
        #expect(tables.filter { !$0.isWhole }.map(\.name) == ["dirents"])
        let empty = tables.filter { $0.rows == 0 && $0.isWhole }.map(\.name)
        #expect(Set(empty).isSuperset(of: ["xattrs", "discarded", "conflicts", "intents"]))
    }

    /// Goal: saving ends, even if the pages form circles.
    ///
    /// Method: random bytes right after the header of a table's first page, which has the order of
    /// its rows.
    @Test(.timeLimit(.minutes(5)), arguments: ["dirents", "settings"])
    func `with random damage is read without looping`(table: String) throws {
        try fixture.execute(
            """
            WITH RECURSIVE n (i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
            INSERT INTO dirents (parent, name, inode) SELECT 1, 'name' || i, i FROM n
            """)
        try fixture.execute("PRAGMA user_version")
        let sound = try Data(contentsOf: URL(filePath: fixture.database))
        let found = try StateDatabase.reader(fixture.database).read {
            try Int.fetchOne(
                $0, sql: "SELECT rootpage FROM sqlite_master WHERE name = ?", arguments: [table])
        }
        let first = try #require(found)
        var generator = SeededGenerator(seed: 7)
        for round in 0..<50 {
            var bytes = sound
            for index in 8..<208 {
                bytes[(first - 1) * 4096 + index] = UInt8.random(in: 0...255, using: &generator)
            }
            let path = fixture.path + "/damaged-\(round)"
            try bytes.write(to: URL(filePath: path))
            let tables = try DatabaseRescue.rescue(path, into: "\(path).saved")
            #expect(tables.contains { $0.name == "inodes" && $0.isWhole })
        }
    }

    /// Method: the last page is cut off; and a bit of the words that make one table is another.
    @Test(arguments: [true, false])
    func `that is truncated or lacks a table keeps the others`(isCut: Bool) throws {
        try fixture.execute(
            "CREATE TABLE last (text TEXT); INSERT INTO last VALUES ('x')")
        var bytes = try Data(contentsOf: URL(filePath: fixture.database))
        if isCut {
            bytes.removeLast(4096)
        } else {
            let words = try #require(bytes.range(of: Data("CREATE TABLE last".utf8)))
            bytes[words.lowerBound + 3] ^= 0x20
            bytes[words.lowerBound + 8] ^= 0x40
        }
        try bytes.write(to: URL(filePath: fixture.database))
        guard case .damaged = try condition() else {
            Issue.record("the damage is not seen")
            return
        }
        let saved = fixture.path + "/saved"
        let tables = try DatabaseRescue.rescue(fixture.database, into: saved)
        #expect(tables.count == 19)
        #expect(tables.filter { !$0.isWhole }.map(\.name) == [])
        try FileManager.default.removeItem(atPath: fixture.database)
        try FileManager.default.moveItem(atPath: saved, toPath: fixture.database)
        #expect(try fixture.check().isClean)
    }

    @Test func `that cannot be read leaves the content files to be found`() throws {
        try overwrite(0..<1_000_000)
        #expect(try condition() == .damaged("file is not a database"))
        let saved = fixture.path + "/saved"
        let tables = try DatabaseRescue.rescue(fixture.database, into: saved)
        #expect(tables.count == 19)
        #expect(tables.allSatisfy { !$0.isWhole && $0.rows == 0 })
        try FileManager.default.removeItem(atPath: fixture.database)
        try FileManager.default.moveItem(atPath: saved, toPath: fixture.database)
        #expect(try fixture.check().isInOrder)
        let lost = try fixture.lostAndFound()
        #expect(lost["4-content_4_4"] == StateFixture.dirtyBytes)
        #expect(try fixture.check().isClean)
    }

    /// The leaf pages of a table, counted from 1.
    private func pages(of table: String) throws -> [Int] {
        let bytes = try Data(contentsOf: URL(filePath: fixture.database))
        // SQLite's file format: a table's leaf page begins with 13. Ids from 100 on are in them.
        return (2...(bytes.count / 4096)).filter { number in
            let start = (number - 1) * 4096
            return bytes[start] == 13 && Int(bytes[start + 3]) << 8 + Int(bytes[start + 4]) > 20
                && bytes[start..<(start + 4096)].range(of: Data("dirty".utf8)) == nil
        }
    }
}
