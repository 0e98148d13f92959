import Foundation
import GRDB
import Testing

@testable import Engine

@Suite("Names that a remote takes for one")
struct NameMatchingTests {
    private static func matches(_ names: NameMatching, _ left: String, _ right: String) -> Bool {
        guard let left = FileName(left), let right = FileName(right) else { return false }
        return names.key(of: left) == names.key(of: right)
    }

    @Test(arguments: [
        ("a.txt", "A.TXT"), ("\u{E9}", "e\u{301}"), ("\u{C9}", "e\u{301}"),
        ("Stra\u{DF}e", "STRASSE"),
        ("\u{3C3}", "\u{3C2}"), ("K", "\u{212A}"), ("\u{AC00}", "\u{1100}\u{1161}"),
        ("a\u{200D}b", "AB"),
    ])
    func `match without regard to case and form`(left: String, right: String) {
        #expect(Self.matches(.caseless, left, right))
        #expect(!Self.matches(.exact, left, right))
    }

    @Test func `match without regard to the form alone`() {
        #expect(Self.matches(.composition, "\u{E9}", "e\u{301}"))
        #expect(!Self.matches(.composition, "\u{E9}", "\u{C9}"))
        #expect(!Self.matches(.composition, "a", "A"))
    }

    @Test(arguments: [("a", "b"), ("e", "\u{E9}"), ("a.txt", "a.txt ")])
    func `do not match if they differ in anything else`(left: String, right: String) {
        #expect(!Self.matches(.caseless, left, right))
    }

    @Test func `need not be UTF-8`() throws {
        let names = try [[0xFF, 0x41], [0xFF, 0x61], [0xFE, 0x61]].map { bytes in
            NameMatching.caseless.key(of: try #require(FileName(bytes)))
        }
        #expect(names[0] == names[1])
        #expect(names[1] != names[2])
    }

    // MARK: The index

    private static func store() throws -> Store { try Store(DatabaseQueue()) }

    private static func rows(_ store: Store) throws -> Int {
        try store.read { try $0.value("SELECT count(*) FROM folded_names") ?? 0 }
    }

    private static let name = FileName(stored: Array("Name".utf8))
    private static let other = FileName(stored: Array("NAME".utf8))

    private static func add(_ name: FileName, to database: Database) throws -> InodeRecord {
        var inode = InodeRecord(
            kind: .file, mode: 0o644, owner: Caller(userID: 0, groupID: 0), size: 0,
            modified: Timestamp(seconds: 0), changed: Timestamp(seconds: 0))
        try database.insert(&inode)
        try database.insertDirent(name, in: .root, to: inode, on: nil, at: inode.changed)
        try database.insertSynced(
            SyncedRecord(
                parent: .root, name: name, etag: ETag("1"), size: 0, mode: 0o644,
                modified: inode.modified, generation: 0, extendedAttributes: ExtendedAttributes()),
            of: inode.id)
        return inode
    }

    private static func makeRoot(_ database: Database) throws {
        var root = InodeRecord(
            kind: .directory, mode: 0o755, owner: Caller(userID: 0, groupID: 0), size: 0,
            modified: Timestamp(seconds: 0), changed: Timestamp(seconds: 0))
        try database.insert(&root)
        #expect(root.id == .root)
    }

    @Test func `cost no row if the remote tells all names apart`() throws {
        let store = try Self.store()
        #expect(try store.matchNames(.exact).isEmpty)
        try store.write { database in
            try Self.makeRoot(database)
            _ = try Self.add(Self.name, to: database)
        }
        #expect(try Self.rows(store) == 0)
    }

    @Test func `are found by each of their spellings, until they are removed`() throws {
        let store = try Self.store()
        _ = try store.matchNames(.caseless)
        let inode = try store.write { database in
            try Self.makeRoot(database)
            return try Self.add(Self.name, to: database)
        }
        let found = try store.read { try $0.namesakes(of: Self.other, in: .root) }
        #expect(Set(found.map(\.side)) == [.local, .agreed])
        #expect(found.allSatisfy { $0.inode == inode.id && $0.name == Self.name })
        try store.write { database in
            let dirent = try #require(try database.dirent(of: inode.id))
            try database.removeDirent(dirent, kind: .file, on: nil, at: inode.changed)
            try database.run("DELETE FROM inodes WHERE id = ?", [inode.id])
        }
        #expect(try store.read { try $0.namesakes(of: Self.other, in: .root) }.isEmpty)
    }

    @Test func `are indexed when a later process learns of them, and forgotten again`() throws {
        let store = try Self.store()
        let inodes = try store.write { database in
            try Self.makeRoot(database)
            return [
                try Self.add(Self.name, to: database).id, try Self.add(Self.other, to: database).id,
            ]
        }
        #expect(try store.matchNames(.caseless) == [inodes[1]])
        #expect(try store.read { try $0.namesakes(of: Self.name, in: .root) }.count == 4)
        #expect(try store.matchNames(.caseless).isEmpty)
        #expect(try store.matchNames(.exact).isEmpty)
        #expect(try Self.rows(store) == 0)
        try store.write { _ = try Self.add(try #require(FileName("third")), to: $0) }
        #expect(try Self.rows(store) == 0)
    }

    @Test func `found out once are known to the next process`() throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: directory) }
        let path = directory.appending(path: StateDatabase.name).path(percentEncoded: false)
        do {
            let store = try Store(path: path)
            #expect(try store.knownNames() == nil)
            _ = try store.matchNames(.exact)
            #expect(try store.knownNames() == nil)
            _ = try store.matchNames(.caseless)
            try store.keep(.caseless)
            store.close()
        }
        for _ in 0..<2 {
            let store = try Store(path: path)
            #expect(try store.knownNames() == .caseless)
            _ = try store.matchNames(.caseless)
            store.close()
        }
    }
}
