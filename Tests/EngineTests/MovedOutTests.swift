import GRDB
import Testing

@testable import Engine

/// Goal: what was moved out of a directory by way of a temporary name on the remote belongs to that
/// directory until it is there: `apus sync` of the directory waits for it.
@Suite("What was moved out of a directory")
struct MovedOutTests {
    private static func make(
        _ kind: FileKind, _ name: String, in parent: InodeNumber, _ database: Database
    ) throws -> InodeRecord {
        var inode = InodeRecord(
            kind: kind, mode: 0o755, owner: Caller(userID: 0, groupID: 0), size: 0,
            modified: Timestamp(seconds: 0), changed: Timestamp(seconds: 0))
        try database.insert(&inode)
        guard inode.id != .root else { return inode }
        try database.insertDirent(
            FileName(stored: Array(name.utf8)), in: parent, to: inode, on: nil, at: inode.changed)
        return inode
    }

    /// - Parameter change: Changes the name of the directory, which is in another one.
    /// - Returns: Whether the directory that the object counts to is still the same, or else the one
    ///   above it.
    private static func isKept(
        _ change: (Database, Dirent, InodeRecord) throws -> Void
    ) throws -> Bool {
        let store = try Store(DatabaseQueue())
        return try store.write { database in
            _ = try make(.directory, "", in: .root, database)
            let above = try make(.directory, "above", in: .root, database)
            let directory = try make(.directory, "d", in: above.id, database)
            let object = try make(.file, "f", in: directory.id, database)
            try database.insertSynced(
                SyncedRecord(
                    parent: .root, name: FileName(stored: Array("\(FileName.asidePrefix)1".utf8)),
                    etag: ETag("1"), size: 0, mode: 0o644, modified: object.modified,
                    generation: 0, extendedAttributes: ExtendedAttributes()),
                of: object.id)
            try database.notePathBeforeMove(of: object.id)
            try #require(database.parentOnRemote(of: object.id) == directory.id)
            let dirent = try #require(try database.dirent(of: directory.id))
            try change(database, dirent, directory)
            let parent = try database.parentOnRemote(of: object.id)
            try #require(parent == directory.id || parent == above.id)
            return parent == directory.id
        }
    }

    @Test func `stays with it when it is renamed`() throws {
        let isKept = try Self.isKept { database, dirent, directory in
            try database.moveDirent(
                dirent, to: FileName(stored: Array("e".utf8)), in: .root, of: directory,
                at: directory.changed)
        }
        #expect(isKept)
    }

    @Test func `goes to the one above it when it is removed`() throws {
        let isKept = try Self.isKept { database, dirent, directory in
            try database.removeDirent(dirent, kind: .directory, on: nil, at: directory.changed)
        }
        #expect(!isKept)
    }
}
