import Foundation
import GRDB
import Synchronization
import Testing

@testable import Engine

/// A log that counts its calls, and does something during them.
private final class WatchedLog: DatabaseLog {
    struct State {
        var calls: [String] = []
        var body: @Sendable (_ call: Int) throws(DiskError) -> Void = { _ throws(DiskError) in }
    }
    let state = Mutex(State())

    var calls: [String] { state.withLock(\.calls) }

    func during(_ body: @escaping @Sendable (_ call: Int) throws(DiskError) -> Void) {
        state.withLock { $0.body = body }
    }

    func synchronize() throws(DiskError) { try note("synchronize") }
    func rewrite() throws(DiskError) { try note("rewrite") }

    private func note(_ call: String) throws(DiskError) {
        let (body, count) = state.withLock { state in
            state.calls.append(call)
            return (state.body, state.calls.count)
        }
        try body(count)
    }
}

@Suite("The synchronisation of commits") struct CommitSyncTests {
    private static let failure = DiskError(.failed, attempt: "sync", reason: "the disk failed")

    private let log = WatchedLog()
    private let queue: DatabaseQueue
    private let store: Store

    init() throws {
        queue = try DatabaseQueue()
        store = try Store(queue, log: log)
    }

    private static func commit(_ store: Store) throws(Blocked) {
        try store.write {
            try $0.run("INSERT INTO settings SELECT 'key' || count(*), '' FROM settings")
        }
    }

    private static func synchronized(_ store: Store) -> Result<Void, Blocked> {
        Result { () throws(Blocked) in
            try commit(store)
            try store.synchronize()
        }
    }

    @Test func `other transactions do not wait for it`() throws {
        let store = store
        try Self.commit(store)
        try store.synchronize()
        log.during { _ throws(DiskError) in
            // On the thread that synchronises: it would wait for itself.
            do { try Self.commit(store) } catch { throw Self.failure }
        }
        try Self.commit(store)
        try store.synchronize()
        let count = try store.read { try $0.value("SELECT count(*) FROM settings") ?? 0 }
        #expect(count == 3)
    }

    /// Goal: bytes that the remote has too are dropped only once no power cut makes the database forget that.
    @Test func `shows whether a power cut may make an inode pending again`() throws {
        try store.write {
            try $0.run(
                """
                INSERT INTO inodes (id, kind, mode, uid, gid, links, size, modified, changed,
                    presence, generation, writing, listed, accessed)
                VALUES (1, 1, 493, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 0)
                """)
            try $0.markPending(.root, at: Timestamp(seconds: 0))
        }
        #expect(store.isSettled)
        try store.write { try $0.removePending(.root) }
        #expect(!store.isSettled)
        try store.synchronize()
        #expect(store.isSettled)
        try Self.commit(store)
        #expect(store.isSettled, "others do not matter")
    }

    /// A ballast of some pieces.
    private final class CountedBallast: Ballast {
        private let pieces: Mutex<Int>

        init(pieces: Int) { self.pieces = Mutex(pieces) }

        var isWhole: Bool { pieces.withLock { $0 > 0 } }
        func isDiskFull() -> Bool { true }
        func restore() -> Bool { isWhole }
        func giveUp() -> Bool {
            pieces.withLock { pieces in
                pieces -= 1
                return pieces >= 0
            }
        }
    }

    /// A disk that copies on write needs room for the log, even if that was written before.
    @Test(arguments: [1, 4]) func `takes of the ballast where the log has no room`(
        pieces: Int
    ) throws {
        let log = WatchedLog()
        let store = try Store(
            try DatabaseQueue(), ballast: CountedBallast(pieces: pieces), log: log)
        log.during { call throws(DiskError) in
            guard call > 4 else { throw DiskError(.full, attempt: "sync", reason: "no space") }
        }
        let result = Self.synchronized(store)
        guard pieces == 1 else { return try result.get() }
        let halt = #expect(throws: Blocked.self) { try result.get() }
        #expect(halt?.failure.kind == .outOfSpace)
    }

    @Test func `nothing is synchronised twice`() throws {
        try store.synchronize()
        try store.synchronize()
        #expect(log.calls == ["rewrite"], "for an earlier process, which may have seen a failure")
        try Self.commit(store)
        try store.synchronize()
        #expect(log.calls.count == 2)
    }

    @Test func `a commit made meanwhile needs the next one`() throws {
        let store = store
        try store.synchronize()
        log.during { call throws(DiskError) in
            guard call == 2 else { return }
            do { try Self.commit(store) } catch { throw Self.failure }
        }
        try Self.commit(store)
        try store.synchronize()
        try store.synchronize()
        try store.synchronize()
        #expect(log.calls == ["rewrite", "synchronize", "synchronize"])
    }

    /// Method: they commit and ask while another one is under way.
    @Test func `callers that wait at the same time share one`() throws {
        let (results, calls) = run(callers: 8, failing: [])
        #expect(calls == ["rewrite", "synchronize", "synchronize"])
        #expect(results.count == 8)
        for result in results { #expect(throws: Never.self) { try result.get() } }
    }

    @Test func `a failure is reported to all that depended on it, and nothing is trusted then`()
        throws
    {
        let (results, calls) = run(callers: 8, failing: [3, 4])
        #expect(calls == ["rewrite", "synchronize", "synchronize"])
        #expect(results.count == 8)
        for result in results {
            #expect(throws: Blocked.self) { try result.get() }
        }
        // Without any other commit, and until it succeeds.
        #expect(throws: Blocked.self) { try store.synchronize() }
        try store.synchronize()
        try store.synchronize()
        try Self.commit(store)
        try store.synchronize()
        #expect(log.calls.dropFirst(3) == ["rewrite", "rewrite", "synchronize"])
    }

    /// Starts callers during the first synchronisation, and waits for all of them.
    ///
    /// - Parameter failing: The calls of the log that fail, 1 being the first.
    private func run(
        callers: Int, failing: Set<Int>
    ) -> (results: [Result<Void, Blocked>], calls: [String]) {
        try? store.synchronize()
        let (store, sync, results) = (store, store.commitSync, Results())
        log.during { call throws(DiskError) in
            if call == 2 { results.fill(callers: callers, of: sync) { Self.synchronized(store) } }
            if failing.contains(call) { throw Self.failure }
        }
        // Not the first one, which holds the writer.
        try? Self.commit(store)
        try? store.synchronize()
        return (results.all(), log.calls)
    }
}

/// The results of callers on threads of their own.
private final class Results: Sendable {
    private let results = Mutex<[Result<Void, Blocked>]>([])
    private let group = DispatchGroup()

    /// Returns once all callers wait.
    func fill(
        callers: Int, of sync: CommitSync, _ call: @escaping @Sendable () -> Result<Void, Blocked>
    ) {
        let count = sync.callerCount + UInt64(callers)
        for _ in 0..<callers {
            group.enter()
            Thread {
                let result = call()
                self.results.withLock { $0.append(result) }
                self.group.leave()
            }.start()
        }
        while sync.callerCount < count { sched_yield() }
    }

    /// Waits for the callers.
    func all() -> [Result<Void, Blocked>] {
        group.wait()
        return results.withLock(\.self)
    }
}

/// Goal: the log of a busy database does not grow with the number of commits.
@Suite("The write-ahead log under load") struct CheckpointTests {
    @Test(.timeLimit(.minutes(5)))
    func `is bounded while transactions and reads go on`() throws {
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "apus-test-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: "state.sqlite").path
        let store = try Store(path: path, log: WatchedLog())
        var longest: UInt64 = 0
        for number in 0..<6_000 {
            try store.write { database in
                for part in 0..<4 {
                    try database.run(
                        "INSERT INTO settings VALUES (?, ?)",
                        ["\(number &* 7_919 % 6_000)-\(part)", String(repeating: "x", count: 600)])
                }
            }
            guard number % 50 == 0 else { continue }
            try store.read { _ = try $0.hasHeld() }
            let attributes = try FileManager.default.attributesOfItem(atPath: "\(path)-wal")
            longest = max(longest, attributes[.size] as? UInt64 ?? 0)
        }
        store.close()
        // All commits take about 150 MB. Commits go on during a checkpoint.
        #expect(longest < UInt64(Checkpointer.framesMax) * 4_120 * 5, "\(longest)")
        let again = try Store(path: path)
        defer { again.close() }
        let count = try again.read { try $0.value("SELECT count(*) FROM settings") ?? 0 }
        #expect(count == 24_000)
    }
}
