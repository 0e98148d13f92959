import GRDB
import Synchronization
import Testing

@testable import Engine

@Suite("A store on a full disk") struct StoreTests {
    /// Gives pages to a database that may not grow.
    private final class PageBallast: Ballast {
        private let database: DatabaseQueue
        private let pieces: Mutex<Int>
        private let hasQuota: Bool

        init(_ database: DatabaseQueue, pieces: Int, hasQuota: Bool = true) {
            self.database = database
            self.hasQuota = hasQuota
            self.pieces = Mutex(pieces)
        }

        var isWhole: Bool { pieces.withLock { $0 > 0 } }

        func isDiskFull() -> Bool { hasQuota }

        func giveUp() -> Bool {
            let isLeft = pieces.withLock { pieces in
                pieces -= 1
                return pieces >= 0
            }
            return isLeft && (try? grow(by: 2)) != nil
        }

        func restore() -> Bool { isWhole }

        func grow(by pages: Int) throws {
            try database.writeWithoutTransaction { database in
                let count = try Int.fetchOne(database, sql: "PRAGMA page_count") ?? 0
                try database.execute(sql: "PRAGMA max_page_count = \(count + pages)")
            }
        }
    }

    private static func insert(_ database: Database, bytes: Int) throws {
        let key = try Int.fetchOne(database, sql: "SELECT count(*) FROM settings") ?? 0
        try database.execute(
            sql: "INSERT INTO settings VALUES (?, ?)",
            arguments: ["\(key)", String(repeating: "x", count: bytes)])
    }

    private static func count(_ store: Store) throws -> Int? {
        try store.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM settings") }
    }

    @Test func `takes of the ballast, and carries out each transaction once`() throws {
        let database = try DatabaseQueue()
        let ballast = PageBallast(database, pieces: 4)
        let store = try Store(database, ballast: ballast)
        try ballast.grow(by: 0)
        for _ in 0..<4 { try store.write { try Self.insert($0, bytes: 6_000) } }
        #expect(try Self.count(store) == 4)
    }

    @Test func `says that there is no room once the ballast is gone, and stays whole`() throws {
        let database = try DatabaseQueue()
        let ballast = PageBallast(database, pieces: 1)
        let store = try Store(database, ballast: ballast)
        try ballast.grow(by: 0)
        #expect(store.restoreBallast())
        try store.write { try Self.insert($0, bytes: 6_000) }
        #expect(!store.restoreBallast())
        let halt = #expect(throws: Blocked.self) {
            try store.write { try Self.insert($0, bytes: 100_000) }
        }
        #expect(halt?.failure.kind == .outOfSpace)
        #expect(try Self.count(store) == 1)
    }

    /// SQLite takes `EDQUOT` for a disk that fails.
    @Test(arguments: [true, false])
    func `takes of the ballast where a quota is used up, and not where the disk fails`(
        hasQuota: Bool
    ) throws {
        let database = try DatabaseQueue()
        let ballast = PageBallast(database, pieces: 2, hasQuota: hasQuota)
        let store = try Store(database, ballast: ballast)
        var attempts = 0
        let result = Result { () throws(Blocked) in
            try store.write { _ in
                attempts += 1
                if attempts < 4 { throw DatabaseError(resultCode: .SQLITE_IOERR_WRITE) }
            }
        }
        #expect(attempts == (hasQuota ? 3 : 1))
        let halt = #expect(throws: Blocked.self) { try result.get() }
        #expect(halt?.failure.kind == (hasQuota ? .outOfSpace : .failed))
    }
}

@Suite("A closed store") struct ClosedStoreTests {
    @Test func `fails, instead of asking a connection that is gone`() throws {
        let queue = try DatabaseQueue()
        let store = try Store(queue)
        try queue.close()
        #expect(throws: Blocked.self) {
            try store.write { try $0.execute(sql: "DELETE FROM settings") }
        }
        #expect(throws: Blocked.self) {
            try store.read { _ = try Int.fetchOne($0, sql: "SELECT count(*) FROM settings") }
        }
    }
}

@Suite("A store without descriptors") struct DescriptorlessStoreTests {
    @Test func `fails as the machine's lack, once it is open`() throws {
        let store = try Store(DatabaseQueue())
        for request in [store.read, store.write] as [((Database) throws -> Void) throws -> Void] {
            let error = #expect(throws: Blocked.self) {
                try request { _ in throw DatabaseError(resultCode: .SQLITE_CANTOPEN) }
            }
            #expect(error?.failure.kind == .tooManyOpen)
        }
    }
}
