import GRDB
import Testing

@testable import Engine

/// Goal: statements get their arguments, and errors are SQLite's.
struct StatementTests {
    private static let names = "SELECT :a || ',' || coalesce(:b, 'none') || ',' || :a"

    private static func inDatabase<Value>(_ body: (Database) throws -> Value) throws -> Value {
        try DatabaseQueue().writeWithoutTransaction(body)
    }

    @Test func `arguments are taken in order or by name`() throws {
        try Self.inDatabase { database in
            let inOrder: String? = try database.value(
                "SELECT ? || coalesce(?, 'none') || ?", [1, nil, "c"])
            #expect(inOrder == "1nonec")
            let named: Arguments = ["b": "two"]
            #expect(try database.value(Self.names, named + ["a": 1]) == "1,two,1")
            #expect(try database.value(Self.names, ["a": 1, "b": nil]) == "1,none,1")
            let name = try #require(FileName("é"))
            #expect(try database.value("SELECT ?", [name]) == name)
            #expect(try database.values("SELECT value FROM json_each(?)", ["[3, 4]"]) == [3, 4])
            #expect(try database.value("SELECT NULL", []) as Int? == nil)
        }
    }

    @Test(arguments: [["a": 1], ["a": 1, "c": 2], ["a": 1, "b": 2, "c": 3]])
    func `missing, unknown and superfluous arguments are errors`(_ values: [String: Int]) throws {
        try Self.inDatabase { database in
            #expect(throws: DatabaseError.self) {
                _ = try database.value(Self.names, Arguments(values)) as String?
            }
            #expect(throws: DatabaseError.self) {
                _ = try database.hasRow("(SELECT ?)", [1, 2])
            }
            let sum: String? = try database.value(Self.names, ["a": 1, "b": 2])
            #expect(sum == "1,2,1")
        }
    }

    @Test func `a refused change throws SQLite's error, and its statement can be used again`()
        throws
    {
        try Self.inDatabase { database in
            try database.execute(sql: "CREATE TABLE numbers (number INTEGER CHECK (number < 9))")
            let insertion = "INSERT INTO numbers VALUES (?)"
            try database.run(insertion, [1])
            let error = try #require(throws: DatabaseError.self) {
                try database.run(insertion, [9])
            }
            #expect(error.extendedResultCode == .SQLITE_CONSTRAINT_CHECK)
            #expect(error.message?.contains("number < 9") == true)
            try database.run(insertion, [2])
            #expect(try database.values("SELECT number FROM numbers ORDER BY 1") == [1, 2])
        }
    }

    @Test func `a transaction that throws leaves nothing, and the next one is not hindered`() throws
    {
        let store = try Store(DatabaseQueue())
        #expect(throws: Blocked.self) {
            try store.write { database in
                try database.run("INSERT INTO settings VALUES ('a', '1')")
                throw Blocked.failure(.failed, "test")
            }
        }
        try store.write { try $0.run("INSERT INTO settings VALUES ('b', '2')") }
        #expect(try store.read { try $0.values("SELECT key FROM settings") } == ["b"])
    }

    /// Method: the connection had another store before, as in a simulated restart.
    @Test func `an inode that stops being pending as another row is deleted is noticed`() throws {
        let queue = try DatabaseQueue()
        _ = try Store(queue)
        let store = try Store(queue)
        let inode = try store.write { database in
            var record = InodeRecord(
                kind: .file, mode: 0o644, owner: Caller(userID: 0, groupID: 0), size: 0,
                modified: Timestamp(nanoseconds: 0), changed: Timestamp(nanoseconds: 0))
            try database.insert(&record)
            try database.markPending(record.id, at: Timestamp(seconds: 0))
            return record.id
        }
        try store.synchronize()
        #expect(store.isSettled)
        try store.write { try $0.deleteInode(inode) }
        #expect(!store.isSettled)
    }
}
