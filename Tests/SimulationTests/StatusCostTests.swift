import GRDB
import Logging
import Simulation
import Testing

@testable import Engine

/// An engine with pending changes.
private struct PendingChanges {
    let engine: Engine
    private let queue: DatabaseQueue

    /// - Parameter pending: The number of pending files, of which some failed.
    init(pending: Int) throws {
        queue = try DatabaseQueue()
        let store = try Store(queue)
        let clock = SimulatedClock()
        engine = try Engine(
            configuration: SimulatedMountSettings().engine, store: store,
            disk: SimulatedDisk(seed: 1, clock: clock, capacityBytes: 1 << 40, isQuota: false),
            clock: clock,
            provider: SimulatedProvider(
                clock: clock, random: SeededGenerator(seed: 1),
                settings: SimulatedProviderSettings()),
            logger: Logger(label: "test"), random: { 0 })
        try queue.write { database in
            try database.execute(
                sql: """
                    CREATE TEMP TABLE numbers AS WITH RECURSIVE numbers (number) AS (
                        SELECT 2 UNION ALL SELECT number + 1 FROM numbers WHERE number <= ?)
                    SELECT number FROM numbers
                    """, arguments: [pending])
            try database.execute(
                sql: """
                    INSERT INTO inodes (id, kind, mode, uid, gid, links, size, modified, changed,
                        presence, generation, writing, listed, accessed)
                    SELECT number, 0, 420, 0, 0, number % 5 > 0, 10, 0, 0, 2, 1, 0, 0, 0
                    FROM numbers;
                    INSERT INTO dirents (parent, name, inode)
                    SELECT 1, CAST(number AS BLOB), number FROM numbers WHERE number % 5 > 0;
                    INSERT INTO pending (inode, since, attempts, kind, what, why, final)
                    SELECT number, abs(random()), 0, iif(number < 500, 'denied', NULL),
                        iif(number < 500, 'upload', NULL), '', iif(number < 500, 1, NULL)
                    FROM numbers
                    """)
        }
    }

    func steps(_ body: () throws -> Void) throws -> Int64 {
        let steps = queue.unsafeRead { StatementSteps(on: $0) }
        let result = Result { try body() }
        let count = queue.unsafeRead { steps.stop(on: $0) }
        try result.get()
        return count
    }
}

/// Goal: the status of the whole mount does not take longer with more pending changes.
@Suite("The cost of the status") struct StatusCostTests {
    /// Method: SQLite's instructions are counted, after statements were compiled.
    @Test func `is the same for 1,000 and for 100,000 pending changes`() throws {
        let (few, many) = (try PendingChanges(pending: 1_000), try PendingChanges(pending: 100_000))
        for it in [few, many] {
            _ = try it.engine.status(below: .root, limit: 100)
            try it.engine.hasten(below: [.root])
        }
        #expect(try many.engine.pending(below: .root).count == 100_000)
        #expect(try many.engine.pending(below: .root).deletions == 20_000)
        #expect(try many.engine.pending(below: .root).bytes == 800_000)
        let requests: [(String, (PendingChanges) throws -> Void)] = [
            ("status", { _ = try $0.engine.status(below: .root, limit: 100) }),
            (
                "sync",
                { _ = try $0.engine.status(below: .root, limit: 100, onlyActive: true) }
            ),
            ("unmount", { _ = try $0.engine.pending(below: .root) }),
            ("hasten", { try $0.engine.hasten(below: [.root]) }),
        ]
        for (name, request) in requests {
            let (expected, found) = (
                try few.steps { try request(few) }, try many.steps { try request(many) }
            )
            #expect(found < expected + 100, "\(name): \(found) instead of \(expected)")
        }
    }
}
