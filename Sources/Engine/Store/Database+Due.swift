import GRDB

// The due times of pending inodes, on the clock of ``Agenda``.

extension Database {
    /// Limit, in nanoseconds, of the delay that further changes can add to a due time.
    static let postponementMax: Int64 = 30_000_000_000

    /// Assigns the due time of a change, unless further changes would postpone it for too long. It
    /// always alters the stored time, so that ``reschedule(_:from:to:blockedBy:)`` recognises a
    /// change made meanwhile.
    static let dueAssignment = """
        due = CASE WHEN blocked_by NOT NULL OR due IS NULL OR due > :due THEN :due
            ELSE max(due + 1, min(:due, due_max)) END,
        due_max = CASE WHEN blocked_by NOT NULL OR due IS NULL THEN :due + \(postponementMax)
            ELSE min(due_max, :due + \(postponementMax)) END,
        blocked_by = NULL
        """

    /// Makes those inodes that are pending due at a time, or at their current due time if that is
    /// earlier and further changes have postponed it long enough.
    func enqueue(_ inodes: some Sequence<InodeNumber>, due: Duration) throws {
        for inode in inodes where try !isPostponed(inode, to: due) {
            try run(
                "UPDATE pending SET \(Self.dueAssignment) WHERE inode = :inode",
                ["inode": inode, "due": due.nanoseconds])
        }
    }

    /// Makes inodes due, few enough for one transaction.
    func makeDue(_ inodes: [InodeNumber], due: Duration) throws {
        try run(
            """
            UPDATE pending SET \(Self.dueAssignment)
            WHERE inode IN (SELECT value FROM json_each(:list))
            """, ["due": due.nanoseconds, "list": Self.list(inodes)])
    }

    /// Assigns a due time as ``dueAssignment``, if an inode is pending and waits for no other. To
    /// assign `blocked_by`, which refers to its own table, would write all indexes of the row again.
    ///
    /// - Parameter atLatest: Whether an earlier due time stays.
    func isPostponed(_ inode: InodeNumber, to due: Duration, atLatest: Bool = false) throws -> Bool
    {
        try run(
            """
            UPDATE pending SET
                due = iif(due IS NULL OR due > ?1, ?1, max(due + 1, min(?1, iif(?3, due, due_max)))),
                due_max = iif(due IS NULL, ?1 + \(Self.postponementMax),
                    min(due_max, ?1 + \(Self.postponementMax)))
            WHERE inode = ?2 AND blocked_by IS NULL
            """, [due.nanoseconds, inode, atLatest])
        return changesCount > 0
    }

    /// Makes inodes due whose last attempt failed with a temporary error of one kind and that would be due
    /// later, the first ones first. Those that wait for another inode go on to do so.
    ///
    /// - Returns: Their number.
    func hasten(failedAs kind: EngineError.Kind, limit: Int, due: Duration) throws -> Int {
        try run(
            """
            UPDATE pending SET \(Self.dueAssignment) WHERE inode IN (
                SELECT inode FROM pending
                WHERE blocked_by IS NULL AND due > :due
                    AND what NOT NULL AND kind = :kind AND NOT final
                ORDER BY due LIMIT :limit)
            """, ["kind": kind, "limit": limit, "due": due.nanoseconds])
        return changesCount
    }

    /// Returns pending inodes that are not due for a reason, each with its position.
    func waiting(
        _ reason: WaitingReason, after last: WaitingReason.Position, limit: Int
    ) throws -> [(key: Int64, record: PendingRecord)] {
        // SQLite would read all inodes of the same key for a comparison of pairs.
        let equal = try waiting(reason, "= ?1 AND inode > ?2", last, limit)
        return try equal + waiting(reason, "> ?1 AND ?2 NOT NULL", last, limit - equal.count)
    }

    private func waiting(
        _ reason: WaitingReason, _ comparison: String, _ last: WaitingReason.Position, _ limit: Int
    ) throws -> [(key: Int64, record: PendingRecord)] {
        try rows(
            """
            SELECT \(reason.key), \(Self.pendingColumns) FROM pending
            WHERE \(reason.condition) AND \(reason.key) \(comparison)
            ORDER BY \(reason.key), inode LIMIT ?3
            """, [last.key, last.inode, limit]
        ) { ($0[0], PendingRecord($0, from: 1)) }
    }

    /// Returns the inode that is due first, except some.
    func firstDue(
        except others: some Collection<InodeNumber>
    ) throws -> (inode: InodeNumber, due: Duration)? {
        try rows(
            """
            SELECT inode, due FROM pending WHERE blocked_by IS NULL AND due NOT NULL
            ORDER BY due LIMIT ?
            """, [others.count + 1]
        ) { (inode: $0[0], due: .nanoseconds($0[1] as Int64)) }
        .first { inode, _ in !others.contains(inode) }
    }

    /// Assigns the next due time of a synchronised inode. If a change has enqueued it meanwhile, it
    /// keeps the due time of that, and further changes may postpone it again.
    ///
    /// - Parameters:
    ///   - started: The due time at which it was started.
    ///   - due: nil if it waits for a user's decision.
    func reschedule(
        _ inode: InodeNumber, from started: Duration, to due: Duration?,
        blockedBy blocker: InodeNumber? = nil, at now: Duration
    ) throws {
        try run(
            """
            UPDATE pending SET blocked_by = iif(due = :started, :blocker, NULL),
                due = iif(due = :started, :due, max(due, :now)),
                due_max = \(Self.postponementMax)
                    + coalesce(iif(due = :started, :due, max(due, :now)), 0)
            WHERE inode = :inode
            """,
            [
                "started": started.nanoseconds, "blocker": blocker,
                "due": due?.nanoseconds, "now": now.nanoseconds, "inode": inode,
            ])
    }

    /// Makes up to 1,000 inodes due that wait for another one.
    ///
    /// - Returns: Whether there may be more; all in one transaction would take long.
    func wakeWaiters(of inode: InodeNumber, due: Duration) throws -> Bool {
        try run(
            """
            UPDATE pending SET blocked_by = NULL, due = max(due, ?)
            WHERE inode IN (SELECT inode FROM pending WHERE blocked_by = ? LIMIT 1000)
            """, [due.nanoseconds, inode])
        return changesCount == 1_000
    }

    /// Whether inodes wait for another one.
    func hasWaiters(_ inode: InodeNumber) throws -> Bool {
        try value("SELECT EXISTS (SELECT 1 FROM pending WHERE blocked_by = ?)", [inode]) ?? false
    }

    /// Makes all pending inodes due that wait for another one, or whose decision was lost.
    ///
    /// - Returns: The latest due time.
    func recoverDue() throws -> Duration {
        // One after the other, each by an index, instead of a look at all that is pending.
        let conditions = [
            "blocked_by NOT NULL", "blocked_by IS NULL AND due > \(Int64.max / 2)",
            """
            blocked_by IS NULL AND due IS NULL AND NOT EXISTS (
                SELECT 1 FROM remote WHERE remote.inode = pending.inode AND held = 1)
            """,
        ]
        for condition in conditions {
            try run(
                """
                UPDATE pending SET due = 0, due_max = 0, blocked_by = NULL
                WHERE \(condition)
                """)
        }
        let latest: Int64? = try value("SELECT max(due) FROM pending WHERE blocked_by IS NULL")
        return .nanoseconds(latest ?? 0)
    }
}

/// A reason why pending inodes are not due, with the order of an index.
enum WaitingReason: CaseIterable {
    case failed, failedFinally, blocked, later

    typealias Position = (key: Int64, inode: InodeNumber)

    fileprivate var condition: String {
        switch self {
        case .failed: "what NOT NULL AND (final IS NOT 1) = 1"
        case .failedFinally: "what NOT NULL AND (final IS NOT 1) = 0"
        case .blocked: "blocked_by NOT NULL"
        case .later: "blocked_by IS NULL"
        }
    }

    fileprivate var key: String {
        switch self {
        case .failed, .failedFinally: "since"
        case .blocked: "blocked_by"
        case .later: "due"
        }
    }

    /// The position before the first inode.
    func start(at now: Duration) -> Position? {
        (self == .later ? now.nanoseconds : .min, InodeNumber(rawValue: .max))
    }
}

extension Duration {
    /// Rounded up, so that nothing is due before its time.
    var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (whole, rest) = attoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        return seconds * 1_000_000_000 + whole + (rest > 0 ? 1 : 0)
    }
}
