import GRDB

/// The one row of `history_state`, which is there as long as changes are recorded.
struct HistoryState: Hashable {
    /// Chosen at random when the recording began.
    var name: String
    /// No change after this position is missing.
    var start: Int64
    /// The last known time at which someone was interested.
    var used: Timestamp
}

// Rows of `history`: changes of the tree, each written by the transaction that makes it.

extension Database {
    /// The number of changes that are kept.
    static let historyMax: Int64 = 100_000
    /// The number of changes after which older ones are removed.
    private static let historyStep: Int64 = 1_000
    /// The longest distance between the positions before and after a start. It is chosen at random: a
    /// power cut, or a backup that was restored, may have undone changes whose positions were told, and
    /// a start as well.
    private static let historySkipMax: UInt64 = 1 << 40
    /// The time without interest after which changes are not recorded any more, in nanoseconds.
    private static let historyUnusedMax: Int64 = 7 * 86_400_000_000_000

    func history() throws -> HistoryState? {
        try row("SELECT name, start, used FROM history_state", []) {
            HistoryState(name: $0[0], start: $0[1], used: $0[2])
        }
    }

    /// The position of the last change.
    func historyEnd() throws -> Int64 {
        try value("SELECT seq FROM sqlite_sequence WHERE name = 'history'") ?? 0
    }

    /// Begins to record changes.
    func beginHistory(named name: String, at now: Timestamp) throws {
        try run("DELETE FROM history")
        // Keeps the positions from beginning anew if a power cut undoes the first changes.
        try run(
            """
            INSERT INTO sqlite_sequence SELECT 'history', 0
            WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence WHERE name = 'history')
            """)
        try run("INSERT INTO history_state VALUES (1, ?, ?, ?)", [name, try historyEnd(), now])
    }

    func setHistoryUsed(_ now: Timestamp) throws {
        try run("UPDATE history_state SET used = ?", [now])
    }

    /// Prepares the history for the changes of another run, or ends it if it was not used for long.
    ///
    /// - Parameter random: Differs from that of each other run.
    func resumeHistory(at now: Timestamp, _ random: UInt64) throws {
        guard let state = try history() else { return }
        // The clock was wrong then, or is now.
        if state.used > now { try setHistoryUsed(now) }
        if now.nanoseconds - state.used.nanoseconds > Self.historyUnusedMax {
            return try endHistory()
        }
        try run(
            "UPDATE sqlite_sequence SET seq = seq + ? WHERE name = 'history'",
            [Int64(1 + random % Self.historySkipMax)])
    }

    /// Stops to record changes. Called also after changes that are not recorded.
    func endHistory() throws {
        try run("DELETE FROM history_state")
        try run("DELETE FROM history")
    }

    /// Returns up to `limit` changes after a position, in their order.
    func recordedChanges(after position: Int64, limit: Int) throws -> [RecordedChange] {
        try rows(
            """
            SELECT position, time, kind, side, path, former FROM history
            WHERE position > ? ORDER BY position LIMIT ?
            """, [position, limit], RecordedChange.init)
    }

    /// Adds a change to those that are recorded.
    func insertChange(
        _ kind: RecordedChange.Kind, on side: RecordedChange.Side, at path: ObjectKey,
        from former: ObjectKey?, at now: Timestamp
    ) throws {
        try run(
            "INSERT INTO history (time, kind, side, path, former) VALUES (?, ?, ?, ?, ?)",
            [now, kind.rawValue, side.rawValue, path, former])
        if lastInsertedRowID % Self.historyStep == 0 { try trimHistory() }
    }

    var isRecorded: Bool { get throws { try hasRow("history_state") } }

    private func trimHistory() throws {
        let last: Int64? = try value(
            "SELECT position FROM history ORDER BY position DESC LIMIT 1 OFFSET ?",
            [Self.historyMax])
        guard let last else { return }
        try run("DELETE FROM history WHERE position <= ?", [last])
        try run("UPDATE history_state SET start = max(start, ?)", [last])
    }
}

extension RecordedChange {
    fileprivate init(_ row: StatementRow) {
        self.init(
            position: row[0], time: row[1], kind: Kind(rawValue: row[2]) ?? .changed,
            side: Side(rawValue: row[3]) ?? .local, path: row[4], former: row[5])
    }
}
