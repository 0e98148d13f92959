import GRDB
import Testing

@testable import Engine

@Suite("Databases of other versions")
struct MigrationTests {
    @Test func `one of a later version is refused and not changed`() throws {
        let database = try DatabaseQueue()
        _ = try Store(database)
        try database.write { try $0.execute(sql: "INSERT INTO grdb_migrations VALUES ('v2')") }
        let error = try #require(throws: EngineError.self) { _ = try Store(database) }
        #expect(error.kind == .damaged)
        #expect(error.attempt.contains("newer"))
    }

    @Test func `one of version 1 learns how much space its files take`() throws {
        let database = try DatabaseQueue()
        try Schema.migrator.migrate(database, upTo: "v1")
        try database.write { database in
            for (presence, size) in [(0, 100), (1, 1_000), (2, 10_000)] {
                try database.execute(
                    sql: """
                        INSERT INTO inodes (kind, mode, uid, gid, links, size, modified, changed,
                            presence, generation, writing, listed, accessed)
                        VALUES (0, 420, 0, 0, 1, ?, 0, 0, ?, 1, 0, 0, 0)
                        """, arguments: [size, presence])
            }
            try database.execute(
                sql: "INSERT INTO extents VALUES (2, 0, 300), (2, 900, 9223372036854775807)")
        }
        let store = try Store(database)
        #expect(try store.presentBytes() == 10_400)
    }

    @Test func `the sum of local bytes follows its rows`() throws {
        let store = try Store(DatabaseQueue())
        let inode = try store.write { database in
            var record = InodeRecord(
                kind: .file, mode: 0o644, owner: Caller(userID: 0, groupID: 0), size: 9,
                modified: Timestamp(nanoseconds: 0), changed: Timestamp(nanoseconds: 0))
            record.presence = .whole
            try database.insert(&record)
            try database.setLocalBytes(4_096, of: record.id)
            try database.setLocalBytes(8_192, of: record.id)
            return record.id
        }
        #expect(try store.presentBytes() == 8_192)
        try store.write { database in
            var record = try database.existingInode(inode)
            record.presence = .remote
            try database.update(record)
        }
        #expect(try store.presentBytes() == 0)
        try store.write { database in
            try database.setLocalBytes(4_096, of: inode)
            try database.deleteInode(inode)
        }
        #expect(try store.presentBytes() == 0)
    }
}
