import Foundation
import Host
import Testing

@testable import Engine

/// Goal: for any damage to a state directory, a check reports it, loses no existing bytes, and
/// leaves a state that an engine can use.
@Suite("A check") struct StateCheckTests {
    @Test(arguments: Damage.names) func `repairs names`(damage: Damage) throws {
        try expectRepair(of: damage)
    }

    @Test(arguments: Damage.sync) func `repairs the remote state`(
        damage: Damage
    ) throws {
        try expectRepair(of: damage)
    }

    @Test(arguments: Damage.contents) func `repairs contents`(damage: Damage) throws {
        try expectRepair(of: damage)
    }

    /// Method: a dry run, which changes nothing; a check; a mount; a second check.
    private func expectRepair(of damage: Damage) throws {
        let fixture = try StateFixture()
        if !damage.sql.isEmpty { try fixture.execute(damage.sql) }
        _ = try? FileManager.default.createDirectory(
            atPath: URL(filePath: fixture.content(of: 1_007)).deletingLastPathComponent().path,
            withIntermediateDirectories: true)
        _ = try? FileManager.default.createDirectory(
            atPath: URL(filePath: fixture.content(of: 2)).deletingLastPathComponent().path,
            withIntermediateDirectories: true)
        try damage.files(fixture)

        let before = try fixture.snapshot()
        let told = try fixture.check(isDryRun: true)
        #expect(try fixture.snapshot() == before)
        #expect(!told.isInOrder)

        let report = try fixture.check()
        #expect(report.findings.map(\.what) == told.findings.map(\.what))
        #expect(
            report.findings.contains { $0.kind == damage.kind && $0.outcome == damage.outcome },
            "\(report.findings)")
        if damage.outcome == .repaired { #expect(report.isInOrder, "\(report.findings)") }
        #expect(try fixture.lostAndFound() == damage.lost)

        try expectOrder(in: fixture, after: damage)
    }

    private func expectOrder(in fixture: StateFixture, after damage: Damage) throws {
        let tree = try fixture.mountAndRead()
        for (path, bytes) in damage.tree { #expect(tree[path] == bytes, "\(tree)") }
        let again = try fixture.check()
        if damage.stays {
            #expect(again.findings.allSatisfy { $0.kind == .content && $0.outcome == .lost })
            #expect(again.findings.count == 1)
        } else {
            #expect(again.isClean, "\(again.findings)")
        }
    }

    @Test func `finds no errors in a valid state`() throws {
        let fixture = try StateFixture()
        let report = try fixture.check()
        #expect(report.findings == [])
        #expect(report.source == "folder:/cloud")
        #expect(report.inodes == 8)
        #expect(try fixture.mountAndRead()["/docs/dirty.txt"] == StateFixture.dirtyBytes)
    }

    @Test func `finds no errors in an empty state`() throws {
        let fixture = try StateFixture()
        for name in try FileManager.default.contentsOfDirectory(atPath: fixture.path) {
            try FileManager.default.removeItem(atPath: "\(fixture.path)/\(name)")
        }
        #expect(try fixture.check(isDryRun: true).findings == [])
        #expect(try fixture.check().findings == [])
        #expect(try fixture.mountAndRead().isEmpty)
    }

    @Test func `recognises the leftovers of a killed process`() throws {
        let fixture = try StateFixture()
        try fixture.execute("UPDATE inodes SET writing = 1 WHERE id = 4")
        try fixture.put("clone", at: "frozen/4-1")
        try fixture.put("clone", at: "clones/4")
        try fixture.put("mine", at: "notes.txt")
        let told = try fixture.check(isDryRun: true)
        #expect(told.isClean)
        #expect(told.findings.map(\.kind) == [.leftover, .leftover, .leftover, .unknown])
        #expect(FileManager.default.fileExists(atPath: "\(fixture.path)/clones/4"))

        #expect(try fixture.check().isClean)
        #expect(!FileManager.default.fileExists(atPath: "\(fixture.path)/frozen/4-1"))
        #expect(FileManager.default.fileExists(atPath: "\(fixture.path)/notes.txt"))
        #expect(try fixture.mountAndRead()["/docs/dirty.txt"] == StateFixture.dirtyBytes)
    }

    @Test func `shows a lost file in the status, and never wrong bytes in its place`() throws {
        let fixture = try StateFixture()
        try FileManager.default.removeItem(atPath: fixture.content(of: 4))
        _ = try fixture.check()
        let store = try Store(path: fixture.database)
        defer { store.close() }
        let engine = try fixture.engine(store)
        let item = try engine.status(below: .root, limit: 10).items.first { $0.inode.rawValue == 4 }
        #expect(item?.path == "docs/dirty.txt")
        #expect(item?.failure?.isFinal == true)
        #expect(item?.failure?.why.hasPrefix("its bytes are lost") == true)
        #expect(throws: Blocked.self) {
            try engine.open(InodeNumber(rawValue: 4), access: .read, truncating: false)
        }
    }

    /// A content file has its length from the open, before its bytes.
    @Test func `does not trust the length of a content file`() throws {
        let fixture = try StateFixture()
        try fixture.execute(
            """
            UPDATE inodes SET presence = 7 WHERE id = 3;
            UPDATE inodes SET generation = 'x' WHERE id = 5;
            """)
        try Data(count: 5).write(to: URL(filePath: fixture.content(of: 3)))
        try FileManager.default.createDirectory(
            atPath: URL(filePath: fixture.content(of: 5)).deletingLastPathComponent().path,
            withIntermediateDirectories: true)
        try Data(count: 100).write(to: URL(filePath: fixture.content(of: 5)))
        let report = try fixture.check()
        #expect(report.isInOrder, "\(report.findings)")
        #expect(try fixture.count("inodes WHERE id IN (3, 5) AND presence = 0") == 2)
        #expect(try fixture.count("pending WHERE inode IN (3, 5)") == 0)
        #expect(try fixture.check().isClean)
    }

    @Test func `lets a lost file be truncated to zero`() throws {
        let fixture = try StateFixture()
        try FileManager.default.removeItem(atPath: fixture.content(of: 4))
        _ = try fixture.check()
        let store = try Store(path: fixture.database)
        defer { store.close() }
        let engine = try fixture.engine(store)
        let lost = InodeNumber(rawValue: 4)
        var change = AttributeChange()
        change.size = 0
        let emptied = try engine.setAttributes(of: lost, to: change)
        #expect(emptied.size == 0)
        #expect(try engine.item(lost).failure == nil)
        try engine.open(lost, access: .read, truncating: false)
        engine.release(lost, access: .read)
    }

    @Test func `resets invalid records of durability`() throws {
        let fixture = try StateFixture()
        try fixture.execute(
            "REPLACE INTO unsynced (inode, state, fsynced) VALUES (3, 9, 7), (4, 2, 'x')")
        _ = try fixture.check()
        #expect(try fixture.count("unsynced WHERE inode = 3 AND state = 0 AND fsynced = 0") == 1)
        #expect(
            try fixture.count("unsynced WHERE inode = 4 AND state = 0 AND fsynced = 1") == 1,
            "local changes are kept in any case")
    }

    @Test func `forgets the durability of bytes that it moves away`() throws {
        let fixture = try StateFixture()
        try fixture.execute(
            "REPLACE INTO unsynced (inode, state, fsynced) VALUES (3, 2, 1), (4, 2, 1)")
        for inode in [3, 4] as [Int64] {
            try FileManager.default.removeItem(atPath: fixture.content(of: inode))
        }
        _ = try fixture.check()
        #expect(try fixture.count("unsynced WHERE inode IN (3, 4)") == 0)
    }

    @Test func `counts wrong and missing totals again`() throws {
        let fixture = try StateFixture()
        let whole = try fixture.totals()
        #expect(whole.names == 7)
        #expect(try whole.localBytes == fixture.allocatedBytes(of: [3, 4, 6]))
        #expect(whole.pending == 3)
        #expect(whole.pendingBytes == 11)
        for sql in [
            "UPDATE totals SET names = 99, local_bytes = -1, pending = 'x', pending_bytes = 1.5",
            "UPDATE totals SET deletions = 1, failed = 2, final = 3", "DELETE FROM totals",
        ] {
            try fixture.execute(sql)
            let report = try fixture.check()
            #expect(report.isInOrder && !report.isClean, "\(sql)")
            #expect(report.findings.allSatisfy { $0.what.hasPrefix("the total of") })
            #expect(try fixture.totals() == whole)
            #expect(try fixture.check().isClean)
        }
    }

    @Test func `does not reuse an inode number that content files have`() throws {
        let fixture = try StateFixture()
        try FileManager.default.createDirectory(
            atPath: URL(filePath: fixture.content(of: 1_007)).deletingLastPathComponent().path,
            withIntermediateDirectories: true)
        try Data("stray".utf8).write(to: URL(filePath: fixture.content(of: 1_007)))
        _ = try fixture.check()
        let store = try Store(path: fixture.database)
        defer { store.close() }
        let made = try fixture.engine(store).createDirectory(
            FileName(stored: [97]), in: .root, mode: 0o755, caller: .test)
        #expect(made.inode.rawValue == 1_008)
    }
}
