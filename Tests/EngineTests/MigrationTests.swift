import GRDB
import Testing

@testable import Engine

@Suite("Databases of earlier versions")
struct MigrationTests {
    @Test func `one of the first version keeps its rows, and gets what came later`() throws {
        let database = try DatabaseQueue()
        try Schema.migrator.migrate(database, upTo: "1")
        try database.write { database in
            try database.execute(
                sql: """
                    INSERT INTO inodes VALUES (1, 1, 493, 0, 0, 2, 0, 7, 7, NULL, 0, 0, 0, 1, 7);
                    INSERT INTO inodes VALUES (2, 0, 420, 5, 6, 1, 3, 8, 9, NULL, 2, 4, 0, 0, 7);
                    INSERT INTO dirents VALUES (1, 1, x'61', 2);
                    INSERT INTO inodes VALUES (3, 2, 511, 5, 6, 1, 1, 8, 9, x'78', 0, 0, 0, 0, 7);
                    INSERT INTO inodes VALUES (4, 2, 511, 5, 6, 1, 1, 8, 9, x'78', 0, 0, 0, 0, 7);
                    INSERT INTO synced VALUES (4, 1, x'63', 'e2', 1, 511, 8, 0);
                    INSERT INTO synced VALUES (2, 1, x'61', 'e1', 3, 420, 8, 3);
                    INSERT INTO pending VALUES (2, 10, 3, 'write', 'no room', 'free some', 1);
                    INSERT INTO remote VALUES (2, 1, 0, NULL, 0, 0, NULL, NULL);
                    INSERT INTO conflicts VALUES (2, x'62', 11);
                    """)
        }
        let store = try Store(database)
        let file = InodeNumber(rawValue: 2)
        try store.read { database in
            let record = try #require(try database.inode(file))
            // Whether the remote has extended attributes of it is not known.
            #expect(!record.hasMetadata)
            #expect(try database.inode(.root)?.hasMetadata == true)
            #expect(try database.extendedAttributes(of: file).isEmpty)
            #expect((record.userID, record.size, record.generation) == (5, 3, 4))
            #expect(try database.path(of: file).map(\.description) == ["a"])
            #expect(try database.synced(file)?.etag == ETag("e1"))
            #expect(try database.pending(file)?.failure?.why == "no room")
            #expect(try database.isHeld(file) == false)
            #expect(try database.conflictOriginal(of: file)?.description == "b")
            #expect(try database.upload(of: file) == nil)
            // A link that only this side has was made here; of the other nobody knows any more.
            #expect(try database.inode(InodeNumber(rawValue: 3))?.isMadeHere == true)
            #expect(try database.inode(InodeNumber(rawValue: 4))?.isMadeHere == false)
        }
    }

    @Test func `one of a later version is refused and not changed`() throws {
        let database = try DatabaseQueue()
        _ = try Store(database)
        try database.write { try $0.execute(sql: "INSERT INTO grdb_migrations VALUES ('11')") }
        let error = try #require(throws: EngineError.self) { _ = try Store(database) }
        #expect(error.kind == .damaged)
        #expect(error.attempt.contains("newer"))
    }
}
