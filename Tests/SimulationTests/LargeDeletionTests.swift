import GRDB
import Simulation
import Synchronization
import Testing

@testable import Engine

/// Goal: deletions in any number are recorded and decided in small transactions, and a death in between
/// deletes nothing that has to be confirmed.
@Suite("Deletions of more names than one transaction takes")
struct LargeDeletionTests {
    private static let namesMax = 7

    /// A known folder with 200 files, of which the remote deletes some.
    private static func run(
        deleting count: Int, _ body: @escaping @Sendable (Scenario) async throws -> Void
    ) throws {
        var settings = SimulatedMountSettings()
        settings.engine.mergedEntriesMax = namesMax
        try Scenario.run(settings: settings) { remote in
            for index in 0..<200 { try remote.otherClientWrites(Scenario.key("f\(index)"), [1]) }
        } _: { it in
            _ = try await it.names(in: "")
            for index in 0..<count { try it.remote.otherClientDeletes(Scenario.key("f\(index)")) }
            try await body(it)
        }
    }

    /// Counts the changed rows of the table `remote` in each transaction.
    private final class RowCounts: TransactionObserver, Sendable {
        private struct Counts {
            var current = 0
            var largest = 0
            var sum = 0
        }

        private let counts = Mutex(Counts())
        private let recordings: AsyncStream<Void>.Continuation?

        init(recordings: AsyncStream<Void>.Continuation?) { self.recordings = recordings }

        var largest: Int { counts.withLock(\.largest) }
        var sum: Int { counts.withLock(\.sum) }

        /// Has triggers report the rows: GRDB's observers see only those of statements that GRDB runs.
        func begin(in database: Database) throws {
            database.add(transactionObserver: self, extent: .observerLifetime)
            let note = DatabaseFunction("note_row", argumentCount: 0) { [self] _ in
                counts.withLock { $0.current += 1 }
                return nil
            }
            database.add(function: note)
            for change in Self.changes {
                try database.execute(
                    sql: """
                        CREATE TEMP TRIGGER note_\(change) AFTER \(change) ON main.remote
                        BEGIN SELECT note_row(); END
                        """)
            }
        }

        func end(in database: Database) throws {
            for change in Self.changes { try database.execute(sql: "DROP TRIGGER note_\(change)") }
            database.remove(transactionObserver: self)
        }

        private static let changes = ["insert", "update", "delete"]

        func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { false }

        func databaseDidChange(with event: DatabaseEvent) {}

        func databaseDidCommit(_ database: Database) {
            let isRecording = counts.withLock { counts in
                let isRecording = counts.current > 0
                counts.largest = max(counts.largest, counts.current)
                counts.sum += counts.current
                counts.current = 0
                return isRecording
            }
            if isRecording { recordings?.yield() }
        }

        func databaseDidRollback(_ database: Database) { counts.withLock { $0.current = 0 } }
    }

    /// - Parameter recordings: Receives an element after each transaction that changed such rows.
    private static func counting(
        _ it: Scenario, recordings: AsyncStream<Void>.Continuation? = nil,
        _ body: () async throws -> Void
    ) async throws -> RowCounts {
        let counts = RowCounts(recordings: recordings)
        try it.engine.store.write { try counts.begin(in: $0) }
        try await body()
        try it.engine.store.write { try counts.end(in: $0) }
        return counts
    }

    @Test func `on the remote are recorded and released few at a time`() throws {
        try Self.run(deleting: 150) { it in
            let held = try await Self.counting(it) { try await it.refresh() }
            #expect(try it.status().pending.held == 150)
            #expect(held.largest <= Self.namesMax)
            #expect(held.sum == 150)
            it.engine.local.agenda.setPaused(true)
            let released = try await Self.counting(it) {
                var seen: [Int] = []
                let confirmed = try await it.engine.deletions.confirm { seen.append($0.released) }
                #expect(confirmed.here == HeldDeletions(items: 150))
                #expect(seen == seen.sorted() && seen.count > 1 && seen.last == 150, "\(seen)")
                #expect(confirmed.released == 150)
            }
            #expect(released.largest <= Self.namesMax)
            #expect(released.sum == 150)
            it.engine.local.agenda.setPaused(false)
            it.engine.local.agenda.notify()
            #expect(try await it.rest())
            #expect(try await it.names(in: "").count == 50)
        }
    }

    @Test func `here are undone few at a time`() throws {
        try Self.run(deleting: 0) { it in
            for index in 0..<150 { try await it.unlink("f\(index)") }
            try await it.wait(.seconds(10))
            it.engine.local.agenda.setPaused(true)
            let undone = try await Self.counting(it) {
                var seen: [Int] = []
                let rejected = try await it.engine.deletions.reject { seen.append($0.broughtBack) }
                #expect(rejected == RejectedDeletions(broughtBack: 150))
                #expect(seen == seen.sorted() && seen.count > 2 && seen.last == 150, "\(seen)")
            }
            #expect(undone.largest <= Self.namesMax)
            #expect(undone.sum == 150)
            it.engine.local.agenda.setPaused(false)
            it.engine.local.agenda.notify()
            #expect(try await it.rest())
            #expect(try await it.names(in: "").count == 200)
        }
    }

    @Test func `on the remote let other changes pass in between`() throws {
        try Self.run(deleting: 150) { it in
            let (recordings, source) = AsyncStream<Void>.makeStream()
            async let states: [UInt64] = {
                var states: [UInt64] = []
                for await _ in recordings {
                    try await it.makeDirectory("d\(states.count)")
                    states.append(UInt64(try it.status().pending.held))
                }
                return states
            }()
            _ = try await Self.counting(it, recordings: source) { try await it.refresh() }
            source.finish()
            #expect(try await states.contains { (1..<150).contains($0) })
            #expect(try it.status().pending.held == 150)
        }
    }

    @Test(arguments: 1...40)
    func `on the remote are all held, wherever the process dies`(step: Int) throws {
        try Self.run(deleting: 150) { it in
            it.mount.life.dieBeforeStep(step)
            try? await it.refresh()
            await it.mount.kill()
            try it.mount.start()
            try await it.refresh()
            #expect(try it.status().pending.held == 150)
            try await it.wait(.seconds(120))
            #expect(try await it.names(in: "").count == 200)
            let confirmed = try await it.engine.deletions.confirm()
            #expect(confirmed.here == HeldDeletions(items: 150))
            #expect(try await it.rest())
            #expect(try await it.names(in: "").count == 50)
            #expect(try !it.engine.store.read { try $0.hasRow("held_listings") })
        }
    }

    /// Method: the death leaves some of them recorded.
    @Test func `on the remote of files that are back at the next start are forgotten`() throws {
        try Self.run(deleting: 150) { it in
            it.mount.life.dieBeforeStep(12)
            try? await it.refresh()
            await it.mount.kill()
            for index in 0..<150 {
                try it.remote.otherClientWrites(Scenario.key("f\(index)"), [1])
            }
            try it.mount.start()
            let held = try it.status().pending.held
            #expect((1..<150).contains(held))
            #expect(try it.engine.store.read { try $0.hasRow("held_listings") })
            try await it.refresh()
            #expect(try await it.rest())
            #expect(try await it.names(in: "").count == 200)
            #expect(try !it.engine.store.read { try $0.hasRow("held_listings") })
            // A later deletion of a file is an ordinary one.
            try it.remote.otherClientDeletes(Scenario.key("f0"))
            try await it.refresh()
            #expect(try await it.rest())
            #expect(try await it.names(in: "").count == 199)
        }
    }

    /// Method: after the death a single file is found to be gone, not by the listing.
    @Test func `on the remote hold also a single one of them after a death`() throws {
        try Self.run(deleting: 150) { it in
            it.mount.life.dieBeforeStep(12)
            try? await it.refresh()
            await it.mount.kill()
            try it.mount.start()
            let inodes = try it.engine.store.read { database in
                try database.syncedChildren(of: .root).map(\.inode)
            }
            #expect(inodes.count > 50)
            try it.engine.remote.merger.merge { try $0.observeGone([inodes[0]]) }
            #expect(try it.engine.store.read { try $0.isHeld(inodes[0]) })
        }
    }

    @Test(arguments: 1...40)
    func `on the remote are all applied once confirmed, wherever the process dies`(
        step: Int
    ) throws {
        try Self.run(deleting: 150) { it in
            try await it.refresh()
            it.mount.life.dieBeforeStep(step)
            _ = try? await it.engine.deletions.confirm()
            await it.mount.kill()
            try it.mount.start()
            try await it.wait(.seconds(5))
            let held = try it.status().pending.held
            #expect(held == 0 || step == 1 && held == 150, "\(held)")
            _ = try await it.engine.deletions.confirm()
            #expect(try await it.rest())
            #expect(try await it.names(in: "").count == 50)
        }
    }

    @Test func `on the remote that are seen after a confirmation are not part of it`() throws {
        try Self.run(deleting: 0) { it in
            let inodes = try it.engine.store.read { database in
                try database.syncedChildren(of: .root).map(\.inode)
            }
            let now = it.engine.clock.wallTime
            try it.engine.store.write { database in
                try database.noteGone([inodes[0]], isHeld: true, at: now, due: .zero)
                try database.noteConfirmation()
                try database.noteGone([inodes[1]], isHeld: true, at: now, due: .zero)
                _ = try database.releaseConfirmed(
                    after: InodeNumber(rawValue: 0), limit: 10, due: .zero)
            }
            #expect(try it.engine.store.read { try !$0.isHeld(inodes[0]) })
            #expect(try it.engine.store.read { try $0.isHeld(inodes[1]) })
        }
    }

    /// Method: few enough not to be held.
    @Test(arguments: [nil] + (1...40).map { $0 })
    func `on the remote that are not held are applied, wherever the process dies`(
        step: Int?
    ) throws {
        try Self.run(deleting: 60) { it in
            try await it.write("f3", [7])
            if let step { it.mount.life.dieBeforeStep(step) }
            try? await it.refresh()
            if step != nil {
                await it.mount.kill()
                try it.mount.start()
                try await it.refresh()
            }
            #expect(try await it.rest())
            #expect(try await it.names(in: "").count == 141)
            #expect(it.remoteBytes("f3") == [7])
            #expect(it.remotePaths.count == 141)
        }
    }
}
