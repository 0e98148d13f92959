import GRDB
import Synchronization

/// Counts commits, and makes them survive power loss. Callers that wait at the same time share one
/// synchronisation, which began after the commits of all of them.
final class CommitSync: Sendable {
    private struct State {
        /// Whether any synchronisation has succeeded.
        var isSynchronized = false
        /// The last failure, and the last caller that depended on it.
        var failure: (ticket: UInt64, error: any Error)?
        /// Whether the system may have dropped bytes of the log: it reports a failed write once, maybe
        /// to an earlier process, and counts the bytes as written from then on.
        var isLogInDoubt = true
    }

    private let writer: WriterConnection
    private let log: (any DatabaseLog)?
    private let commits = Atomic<UInt64>(0)
    /// The number of commits that survive; those of earlier processes do, see ``Recovery``.
    private let safeCommits = Atomic<UInt64>(0)
    /// The number of the last commit by which an inode stops being pending, or is about to.
    private let settlingCommit = Atomic<UInt64>(0)
    private let tickets = Atomic<UInt64>(0)
    /// Held during a synchronisation: all who wait for it need it.
    private let lock = EventuallyFairLock()
    /// Used with ``lock`` held.
    private let state = Mutex(State())

    init(_ writer: WriterConnection, log: (any DatabaseLog)?) {
        self.writer = writer
        self.log = log
    }

    /// The number of transactions that changed something.
    var commitCount: UInt64 { commits.load(ordering: .acquiring) }

    /// The number of calls of ``synchronize()`` so far.
    var callerCount: UInt64 { tickets.load(ordering: .acquiring) }

    func noteCommit() { commits.add(1, ordering: .releasing) }

    /// Records, before its commit, that an inode stops being pending in the transaction under way.
    func noteSettling() { settlingCommit.store(commitCount + 1, ordering: .releasing) }

    /// Whether no power cut makes an inode pending again that has stopped being pending.
    var isSettled: Bool {
        settlingCommit.load(ordering: .acquiring) <= safeCommits.load(ordering: .acquiring)
    }

    /// Returns once all commits counted so far survive power loss.
    ///
    /// - Throws: The error of the synchronisation, to each caller that depended on it. The next
    ///   caller starts another one, which trusts nothing of it.
    func synchronize() throws {
        let needed = commitCount
        let ticket = tickets.add(1, ordering: .sequentiallyConsistent).newValue
        lock.lock()
        defer { lock.unlock() }
        try state.withLock { state in
            if state.isSynchronized, safeCommits.load(ordering: .acquiring) >= needed { return }
            if let failure = state.failure, failure.ticket >= ticket { throw failure.error }
            // In this order: callers up to the last ticket need no later commits than these.
            let last = tickets.load(ordering: .sequentiallyConsistent)
            let count = commitCount
            do {
                try synchronizeLog(isInDoubt: state.isLogInDoubt)
            } catch {
                state.failure = (last, error)
                state.isLogInDoubt = true
                throw error
            }
            safeCommits.store(count, ordering: .releasing)
            state.isSynchronized = true
            state.isLogInDoubt = false
        }
    }

    /// Makes the log survive before a checkpoint. SQLite does the same, but may succeed although bytes
    /// were dropped before; pages in the database must not be newer than a log that lost some.
    func prepareCheckpoint() throws {
        if log != nil { try synchronize() }
    }

    private func synchronizeLog(isInDoubt: Bool) throws {
        guard let log else { return try commitDurably() }
        guard isInDoubt else { return try log.synchronize() }
        // Commits would write to the log meanwhile.
        try writer.use { _ in try log.rewrite() }
    }

    /// In WAL mode a commit with synchronous=FULL syncs the log with all earlier commits. It needs a
    /// change, or SQLite commits nothing. A pragma must not be cached: this one takes effect when it
    /// is compiled.
    private func commitDurably() throws {
        try writer.use { database in
            try database.execute(sql: "PRAGMA synchronous = FULL")
            defer { try? database.execute(sql: "PRAGMA synchronous = NORMAL") }
            try database.run(
                """
                INSERT INTO settings VALUES ('synchronized', '1')
                ON CONFLICT (key) DO UPDATE SET value = CAST(value AS INTEGER) + 1
                """)
        }
    }
}
