import GRDB
import Testing

@testable import Engine

/// Goal: objects stored together are stored exactly.
struct PackedObjectsTests {
    private static let objects: [RemoteObject] = [
        object("a", etag: "1"),
        object("directory", kind: .directory, mode: 0o700),
        object("no tag, no mode", mode: nil),
        object("empty tag", etag: ""),
        object("larger than 32 bits", etag: "x", size: 1 << 62),
        object("before 1970", etag: "x", modified: -1),
        object("long ago", etag: "x", modified: .min),
        object("far ahead", etag: "x", modified: .max),
        object("provisional", etag: "x", hasMetadata: false),
        object("\u{e9}t\u{e9} \u{1f426}", etag: "\u{e9}\u{1f426}\""),
        object(String(repeating: "n", count: 255), etag: String(repeating: "e", count: 9_999)),
    ]

    private static func object(
        _ name: String, kind: FileKind = .file, etag: String? = nil, size: UInt64 = 0,
        modified: Int64 = 1_700_000_000_123_456_789, mode: UInt16? = 0o644,
        hasMetadata: Bool = true
    ) -> RemoteObject {
        RemoteObject(
            name: FileName(stored: Array(name.utf8)), kind: kind, etag: etag.map { ETag($0) },
            size: size, modified: Timestamp(nanoseconds: modified), mode: mode,
            hasMetadata: hasMetadata)
    }

    @Test func `come back as they were`() throws {
        let queue = try DatabaseQueue()
        _ = try Store(queue)
        let bytes = FileName(stored: [0xFF, 0xFE, 0x01])
        var objects = Self.objects
        objects.append(objects[0])
        objects[objects.count - 1].name = bytes
        try queue.write { database in
            let owner = Caller(userID: 4_000_000_000, groupID: 7)
            let now = Timestamp(nanoseconds: 90_000_000_042)
            var root = InodeRecord(
                kind: .directory, mode: 0o755, owner: owner, size: 0, modified: now, changed: now)
            try database.insert(&root)
            var packed = PackedObjects(capacity: objects.count)
            for object in objects {
                #expect(PackedObjects.canPack(object))
                packed.append(
                    object, mode: object.mode ?? 0o600,
                    remoteModified: object.hasMetadata ? nil : object.modified)
            }
            let first = try database.insertInodes(packed, in: root.id, owner: owner, at: now)
            try database.insertDirents(packed, in: root.id, from: first, directories: 1, at: now)
            #expect(first.rawValue == root.id.rawValue + 1)
            for (index, object) in objects.enumerated() {
                let dirent = try #require(try database.dirent(object.name, in: root.id))
                #expect(dirent.inode.rawValue == first.rawValue + Int64(index))
                let inode = try #require(try database.inode(dirent.inode))
                #expect(inode.kind == object.kind)
                #expect(inode.links == (object.kind == .directory ? 2 : 1))
                #expect(inode.mode == object.mode ?? 0o600)
                #expect((inode.userID, inode.groupID) == (owner.userID, owner.groupID))
                #expect((inode.size, inode.modified) == (object.size, object.modified))
                #expect((inode.changed, inode.accessed) == (now, now.wholeMinute))
                #expect(inode.presence == .remote && !inode.isWriting && !inode.isListed)
                #expect(inode.hasMetadata == object.hasMetadata)
                let synced = try #require(try database.synced(inode.id))
                #expect((synced.parent, synced.name) == (root.id, object.name))
                #expect(synced.etag == object.etag)
                #expect((synced.size, synced.modified) == (object.size, object.modified))
                #expect((synced.mode, synced.generation) == (inode.mode, 0))
                #expect(synced.extendedAttributes.isEmpty)
                #expect(
                    try database.remoteModified(inode.id)
                        == (object.hasMetadata ? nil : object.modified))
            }
            #expect(try database.totals().names == UInt64(objects.count))
            #expect(try database.inode(root.id)?.links == 3)
        }
    }
}
