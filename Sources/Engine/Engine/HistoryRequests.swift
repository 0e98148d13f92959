extension Engine {
    package var history: HistoryRequests { HistoryRequests(engine: self) }
}

/// Requests of programs that watch the tree for changes, including remote ones, which inotify does not
/// tell.
///
/// Changes are recorded from the first request on, and until none came for a week.
package struct HistoryRequests: Sendable {
    fileprivate let engine: Engine

    private var store: Store { engine.store }
    private var clock: any Clock { engine.clock }

    /// Changes after a cursor are not known any more, or never were.
    package struct Gap: Error, Hashable {}

    /// Number of changes that are read at once.
    private static let pageChanges = 1_000
    /// How exactly the time of the last use is known.
    private static let useInterval: Int64 = 3_600_000_000_000
    private static let waitMax: Duration = .seconds(3_600)

    /// Returns the place after all changes so far. Begins to record them if nothing does yet.
    package func present() throws(EngineError) -> HistoryCursor {
        try completed { () throws(Blocked) in
            try store.write { database in
                if try !database.isRecorded {
                    let name = String(engine.random(), radix: 16)
                    try database.beginHistory(named: name, at: clock.wallTime)
                }
                guard let state = try database.history() else {
                    preconditionFailure("a history that has begun has a state")
                }
                return HistoryCursor(history: state.name, position: try database.historyEnd())
            }
        }
    }

    /// Returns all names in the mount by their paths. Reads the whole tree.
    package func names() throws(EngineError) -> Set<ObjectKey> {
        try completed { () throws(Blocked) in
            try store.read { database in
                let inodes: [InodeNumber] = try database.values("SELECT inode FROM dirents")
                return Set(try inodes.map { ObjectKey(try database.path(of: $0)) })
            }
        }
    }

    /// Returns the next changes after a cursor, in their order, each with the cursor after it; waits for one.
    ///
    /// - Returns: At least one, unless the task is cancelled.
    /// - Throws: ``Gap``, `EngineError`.
    package func next(
        after cursor: HistoryCursor
    ) async throws -> [(change: RecordedChange, cursor: HistoryCursor)] {
        let watch = store.commitWatch
        watch.begin()
        defer { watch.end() }
        while !Task.isCancelled {
            let notifications = watch.signal.notifications
            let changes = try changes(after: cursor)
            if !changes.isEmpty { return changes }
            // Until a change, and for long waits to count as use.
            await watch.signal.wait(
                after: notifications, until: clock.uptime + Self.waitMax, on: clock)
        }
        return []
    }

    /// Returns the next changes after a cursor that there are so far.
    ///
    /// - Throws: As ``next(after:)``.
    package func changes(
        after cursor: HistoryCursor
    ) throws -> [(change: RecordedChange, cursor: HistoryCursor)] {
        let (state, changes) = try completed { () throws(Blocked) in
            try store.read { database -> (HistoryState?, [RecordedChange]) in
                guard let state = try database.history(), state.name == cursor.history,
                    try (state.start...max(state.start, database.historyEnd()))
                        .contains(cursor.position)
                else { return (nil, []) }
                let limit = Self.pageChanges
                return (state, try database.recordedChanges(after: cursor.position, limit: limit))
            }
        }
        guard let state else { throw Gap() }
        let now = clock.wallTime
        if now.nanoseconds - state.used.nanoseconds > Self.useInterval {
            // On a full disk, the next read tries again.
            _ = try? store.write { try $0.setHistoryUsed(now) }
        }
        return changes.map {
            ($0, HistoryCursor(history: cursor.history, position: $0.position))
        }
    }
}

extension Store {
    /// Called at each start, before the first change.
    func resumeHistory(at now: Timestamp, _ random: UInt64) throws(Blocked) {
        guard try read({ try $0.isRecorded }) else { return }
        try write { try $0.resumeHistory(at: now, random) }
    }
}
