import GRDB
import Testing

@testable import Engine

@Suite("The lookup of pins") struct PinLookupTests {
    private let store: Store
    private let (photos, old, file, other): (InodeNumber, InodeNumber, InodeNumber, InodeNumber)

    init() throws {
        store = try Store(DatabaseQueue())
        (photos, old, file, other) = try store.write { database in
            var root = Self.record(.directory)
            try database.insert(&root)
            let photos = try Self.add(.directory, "Photos", root.id, database)
            let old = try Self.add(.directory, "old", photos, database)
            return (
                photos, old, try Self.add(.file, "a", old, database),
                try Self.add(.file, "b", .root, database)
            )
        }
    }

    private static func add(
        _ kind: FileKind, _ name: String, _ parent: InodeNumber, _ database: Database
    ) throws -> InodeNumber {
        var record = record(kind)
        try database.insert(&record)
        try database.insertDirent(
            FileName(name)!, in: parent, to: record, on: nil, at: record.changed)
        return record.id
    }

    private static func record(_ kind: FileKind) -> InodeRecord {
        let time = Timestamp(nanoseconds: 0)
        return InodeRecord(
            kind: kind, mode: 0o700, owner: Caller(userID: 0, groupID: 0), size: 9, modified: time,
            changed: time)
    }

    private func pin(_ inodes: InodeNumber...) throws {
        try store.write { database in for inode in inodes { try database.insertPin(inode) } }
    }

    private func found(_ inode: InodeNumber) throws -> InodeNumber? {
        try store.read { database in
            var lookup = try PinLookup(database)
            let pin = try lookup.pin(of: inode)
            #expect(try lookup.pin(of: inode) == pin, "the second answer")
            return pin
        }
    }

    @Test func `finds the nearest one above`() throws {
        #expect(try found(file) == nil)
        try pin(photos)
        #expect(try found(file) == photos)
        #expect(try found(photos) == photos)
        #expect(try found(other) == nil)
        try pin(old)
        #expect(try found(file) == old)
        try pin(file)
        #expect(try found(file) == file)
        try pin(.root)
        #expect(try found(other) == .root)
        #expect(try store.read { try $0.pinRoots() } == [.root])
    }

    @Test func `returns only roots that are not below others`() throws {
        try pin(old, other)
        #expect(try store.read { try $0.pinRoots() } == [old, other])
        #expect(try store.read { try $0.pinRoots(with: [photos, file]) } == [photos, other])
    }

    @Test func `ends if a damaged database has directories in a circle`() throws {
        try store.write { database in
            try database.run("UPDATE dirents SET parent = ? WHERE inode = ?", [old, photos])
        }
        try pin(other)
        #expect(try found(file) == nil)
        #expect(try store.read { try $0.pinRoots(with: [file]) } == [file, other])
    }
}
