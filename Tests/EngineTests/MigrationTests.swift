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
}
