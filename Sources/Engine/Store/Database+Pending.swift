import Foundation
import GRDB

/// One row of `pending`: an inode whose states may differ.
struct PendingRecord {
    var inode: InodeNumber
    var since: Timestamp
    var attempts: Int
    var failure: SyncFailure?
    /// The time at which it is planned, on the clock of ``Agenda``; nil if it waits for another
    /// inode or for a user's decision.
    var due: Duration?
}

extension Database {
    /// Records that an inode's states may differ, unless it is excluded.
    ///
    /// - Parameter due: As for ``enqueue(_:due:)``; nil leaves the due time of a pending inode as it
    ///   is, and makes any other inode due at once.
    func markPending(_ inode: InodeNumber, at now: Timestamp, due: Duration? = nil) throws {
        if let due, try isPostponed(inode, to: due) { return }
        // Not a part of the next statement: as a SELECT it would fill a temporary table, because of the triggers.
        guard try !isExcluded(inode) else { return }
        try run(
            """
            INSERT INTO pending (inode, since, attempts, due, due_max)
            VALUES (:inode, :since, 0, coalesce(:due, 0), coalesce(:due, 0) + \(Self.postponementMax))
            ON CONFLICT (inode) DO UPDATE SET \(Self.dueAssignment) WHERE :due NOT NULL
            """, ["inode": inode, "since": now, "due": due?.nanoseconds])
    }

    /// Records a change of an inode's attributes, which postpones it. A directory that is not on the
    /// remote keeps an earlier due time, as the items in it wait for it: `tar` sets its times last.
    ///
    /// - Parameter due: As for ``enqueue(_:due:)``.
    func markPending(_ record: InodeRecord, at now: Timestamp, due: Duration) throws {
        let isAwaited = try record.kind == .directory && !isSynced(record.id)
        if isAwaited, try isPostponed(record.id, to: due, atLatest: true) { return }
        try markPending(record.id, at: now, due: due)
    }

    /// Records that an inode's states may differ, which becomes due at a time unless it is pending
    /// already.
    func markPending(_ inode: InodeNumber, at now: Timestamp, dueIfNew due: Duration) throws {
        guard try !isExcluded(inode) else { return }
        try run(
            """
            INSERT INTO pending (inode, since, attempts, due, due_max)
            VALUES (?1, ?2, 0, ?3, ?3 + \(Self.postponementMax))
            ON CONFLICT (inode) DO NOTHING
            """, [inode, now, due.nanoseconds])
    }

    /// Removes an inode from the pending ones. The inodes that wait for it become due.
    func removePending(_ inode: InodeNumber) throws {
        try run("DELETE FROM pending WHERE inode = ?", [inode])
    }

    func isPending(_ inode: InodeNumber) throws -> Bool {
        try hasRow("pending WHERE inode = ?", [inode])
    }

    /// Whether a pattern of `--exclude` keeps an inode on this machine. It is only pending to be looked at again.
    func isExcluded(_ inode: InodeNumber) throws -> Bool {
        try hasRow("excluded WHERE inode = ?", [inode])
    }

    func setFailure(_ failure: SyncFailure?, attempts: Int, of inode: InodeNumber) throws {
        try run(
            """
            UPDATE pending SET attempts = :attempts,
                reported = reported AND final IS :final AND kind IS :kind, \(Self.failureAssignment)
            WHERE inode = :inode AND (attempts, kind, what, why, remedy, final, reported)
                IS NOT (:attempts, :kind, :what, :why, :remedy, :final, 0)
            """, Self.failureArguments(failure) + ["attempts": attempts, "inode": inode])
    }

    static let failureAssignment = """
        kind = :kind, what = :what, why = :why, remedy = :remedy, final = :final
        """

    static func failureArguments(_ failure: SyncFailure?) -> Arguments {
        [
            "kind": failure?.kind, "what": failure?.what, "why": failure?.why,
            "remedy": failure?.remedy, "final": failure?.isFinal,
        ]
    }

    /// Returns the permanent failure not yet reported to any program, and records it as reported.
    /// Inodes that wait for a user's decision, or for such an inode, have not failed.
    func takeUnreportedFailure(of inode: InodeNumber) throws -> SyncFailure? {
        let isNew = try hasRow(
            "pending WHERE inode = ? AND final AND kind IS NOT 'busy' AND NOT reported", [inode])
        guard isNew else { return nil }
        try run("UPDATE pending SET reported = 1 WHERE inode = ?", [inode])
        return try pending(inode)?.failure
    }

    static let pendingColumns = """
        inode, since, attempts, what, why, remedy, final, kind,
        CASE WHEN blocked_by IS NULL THEN due END
        """

    func pending(_ inode: InodeNumber) throws -> PendingRecord? {
        try row(
            "SELECT \(Self.pendingColumns) FROM pending WHERE inode = ?", [inode]
        ) { PendingRecord($0) }
    }

    /// Returns pending inodes that concern one, see ``concerns(_:_:)``. Permanent failures come first,
    /// then other failures, then the oldest changes.
    func pending(below ancestor: InodeNumber, limit: Int) throws -> [PendingRecord] {
        let failed = try failedPending(below: ancestor, limit: limit)
        guard failed.count < limit else { return failed }
        return try failed
            + pending(
                below: ancestor, where: "what IS NULL", order: "since, inode",
                limit: limit - failed.count)
    }

    /// Returns the failed ones of ``pending(below:limit:)``.
    func failedPending(below ancestor: InodeNumber, limit: Int) throws -> [PendingRecord] {
        try pending(
            below: ancestor, where: "what NOT NULL", order: "final IS NOT 1, since, inode",
            limit: limit)
    }

    /// Returns those of ``pending(below:limit:)`` whose deletion is held, the oldest first.
    func heldPending(below ancestor: InodeNumber, limit: Int) throws -> [PendingRecord] {
        try pending(
            below: ancestor, where: "kind = 'busy' AND final IS NOT 1", order: "since, inode",
            limit: limit)
    }

    /// - Parameters:
    ///   - condition: That of an index.
    ///   - order: That of the same index, so that all below the root need no sorting.
    private func pending(
        below ancestor: InodeNumber, where condition: String, order: String, limit: Int
    ) throws -> [PendingRecord] {
        try rows(
            """
            \(Self.pendingBelow(ancestor))
            SELECT \(Self.pendingColumns) FROM pending \(Self.isPendingBelow(ancestor)) AND \(condition)
            ORDER BY \(order) LIMIT :limit
            """, Self.arguments(ancestor, ["limit": limit])
        ) { PendingRecord($0) }
    }

    /// For the root, this takes as long as there are held deletions.
    func pendingSummary(below ancestor: InodeNumber) throws -> PendingSummary {
        ancestor == .root ? try pendingSummary() : try countPending(below: ancestor)
    }

    private func pendingSummary() throws -> PendingSummary {
        let totals = try totals()
        var summary = PendingSummary(
            count: totals.pending, deletions: totals.deletions, bytes: totals.pendingBytes,
            failed: totals.failed, failedFinally: totals.failedFinally)
        guard try hasHeld() else { return summary }
        let row = try row(
            """
            SELECT count(*), coalesce(sum(\(Schema.pendingBytes("inodes."))), 0)
            FROM (SELECT inode FROM remote WHERE held = 1) AS held
            CROSS JOIN pending ON pending.inode = held.inode AND pending.kind = 'busy'
            CROSS JOIN inodes ON id = held.inode
            """)
        guard let row else { return summary }
        summary.held = row[0]
        summary.count -= min(summary.count, summary.held)
        summary.bytes -= min(summary.bytes, row[1])
        return summary
    }

    private func countPending(below ancestor: InodeNumber) throws -> PendingSummary {
        let held = "SELECT inode FROM remote WHERE held = 1"
        let isHeld = try hasHeld() ? "pending.kind IS 'busy' AND inode IN (\(held))" : "false"
        let row = try row(
            """
            \(Self.pendingBelow(ancestor)) SELECT
                count(*) FILTER (WHERE NOT (\(isHeld))),
                count(*) FILTER (WHERE links = 0),
                sum(size) FILTER (WHERE links > 0 AND inodes.kind = 0 AND NOT (\(isHeld))),
                count(*) FILTER (WHERE final AND pending.kind IS NOT 'busy'),
                count(*) FILTER (WHERE final),
                count(*) FILTER (WHERE \(isHeld))
            FROM pending LEFT JOIN inodes ON inodes.id = inode
            \(Self.isPendingBelow(ancestor))
            """, Self.arguments(ancestor))
        var summary =
            row.map {
                PendingSummary(
                    count: $0[0], deletions: $0[1], bytes: $0[2] ?? 0, failed: $0[3],
                    failedFinally: $0[4], held: $0[5])
            } ?? PendingSummary()
        summary.above = try values(
            """
            \(Self.pendingBelow(ancestor))
            SELECT inode FROM pending WHERE inode IN (SELECT node FROM moving)
            """, Self.arguments(ancestor))
        return summary
    }

    func isPending(_ inode: InodeNumber, below ancestor: InodeNumber) throws -> Bool {
        try isPending(inode) && concerns(ancestor, inode)
    }

    /// Whether a pending inode concerns a path: it is at or below the path's inode, or it is a directory above
    /// that the remote still has in another place, with everything in it.
    func concerns(_ path: InodeNumber, _ inode: InodeNumber) throws -> Bool {
        if try isBelow(path, inode) { return true }
        guard let dirent = try dirent(of: inode), let synced = try synced(inode) else {
            return false
        }
        return try (synced.parent, synced.name) != (dirent.parent, dirent.name)
            && isBelow(inode, path)
    }

    /// Whether an inode is at or below `ancestor`, by the local path, or by the remote one for an
    /// inode without a local name, see ``parentOnRemote(of:)``.
    func isBelow(_ ancestor: InodeNumber, _ inode: InodeNumber) throws -> Bool {
        // Also what was never sent and has no name any more.
        if ancestor == .root { return true }
        var current = inode
        while current != ancestor, current != .root {
            guard let parent = try dirent(of: current)?.parent ?? parentOnRemote(of: current)
            else {
                return false
            }
            current = parent
        }
        return current == ancestor
    }

    /// Returns the directories that contain pending inodes.
    func parentsOfPending(limit: Int) throws -> [InodeNumber] {
        try values(
            """
            SELECT dirents.parent FROM pending JOIN dirents ON dirents.inode = pending.inode
            UNION
            SELECT synced.parent FROM pending JOIN synced ON synced.inode = pending.inode
            LIMIT ?
            """, [limit])
    }

    // All inodes are below the root; for other ancestors the path is followed upwards from each
    // row.

    /// - Parameter table: The table to be filtered.
    static func below(_ ancestor: InodeNumber, of table: String = "pending") -> String {
        guard ancestor != .root else { return "" }
        return """
            WITH RECURSIVE above (start, node) AS (
                SELECT inode, inode FROM \(table)
                UNION
                SELECT start, coalesce(
                    (SELECT parent FROM dirents WHERE inode = node),
                    (SELECT \(parentOnRemote) FROM synced WHERE inode = node))
                FROM above WHERE node IS NOT NULL AND node NOT IN (1, :ancestor)
            )
            """
    }

    /// As ``below(_:of:)``, with the directories above that are to be moved.
    private static func pendingBelow(_ ancestor: InodeNumber) -> String {
        guard ancestor != .root else { return "" }
        return """
            \(below(ancestor)), path (node) AS (
                SELECT parent FROM dirents WHERE inode = :ancestor
                UNION SELECT parent FROM dirents JOIN path ON inode = node
            ), moving (node) AS (
                SELECT node FROM path JOIN dirents ON dirents.inode = node JOIN synced ON synced.inode = node
                WHERE (synced.parent, synced.name) <> (dirents.parent, dirents.name)
            )
            """
    }

    /// Filters rows of `pending` as ``concerns(_:_:)`` does.
    private static func isPendingBelow(_ ancestor: InodeNumber) -> String {
        guard ancestor != .root else { return "WHERE true" }
        return """
            WHERE inode IN (
                SELECT start FROM above WHERE node = :ancestor UNION ALL SELECT node FROM moving)
            """
    }

    static func isBelow(_ ancestor: InodeNumber) -> String {
        guard ancestor != .root else { return "WHERE true" }
        return "WHERE inode IN (SELECT start FROM above WHERE node = :ancestor)"
    }

    static func arguments(
        _ ancestor: InodeNumber, _ others: Arguments = [:]
    ) -> Arguments {
        ancestor == .root ? others : others + ["ancestor": ancestor.rawValue]
    }
}

extension PendingRecord {
    /// - Parameter first: The index of the first of ``Database/pendingColumns`` in the row.
    init(_ row: StatementRow, from first: Int = 0) {
        inode = row[first]
        since = row[first + 1]
        attempts = row[first + 2]
        if let what = row[first + 3] as String? {
            failure = SyncFailure(
                kind: (row[first + 7] as String?).flatMap(EngineError.Kind.init) ?? .failed,
                what: what, why: row[first + 4] ?? "", remedy: row[first + 5],
                isFinal: row[first + 6] ?? true)
        }
        due = (row[first + 8] as Int64?).map { .nanoseconds($0) }
    }
}
