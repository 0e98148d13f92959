import GRDB
import Logging
import Synchronization

// The guard against deletions that nobody meant, on either side. See ``DeletionGuard``.

extension Engine {
    // MARK: Deleted on the remote

    /// What a listing shows to be gone: removed here too, unless it is so much at once that
    /// somebody is to confirm it.
    func observeGone(
        _ inodes: [InodeNumber], _ changes: inout RemoteChanges, _ database: Database
    ) throws {
        // What was seen to be gone before is decided on already, and what the remote never had, or
        // what it has lost and is created anew, it cannot delete.
        let inodes = try database.agreed(among: inodes)
        guard !inodes.isEmpty else { return }
        let now = clock.uptime
        let (isHeld, count) = try deletions.withLock { guardian in
            var count = 0
            let items = try database.agreedItems(atOrBelow: inodes)
            while let item = try items.next() {
                guardian.noteRemote(InodeNumber(rawValue: item), at: now)
                count += 1
            }
            return (try guardian.holdsRemote(at: now) { try database.syncedCount() }, count)
        }
        if isHeld {
            logger.warning(
                "deletions on the remote wait to be confirmed", metadata: ["items": "\(count)"])
        } else if count <= changes.removalsLeft {
            for inode in inodes { try observe(.gone, of: inode, &changes, database) }
            return
        }
        // To note them is quick, and all of them are noted at once, so that a process that dies has
        // decided on all or none.
        let noted = try database.noteGone(inodes, isHeld: isHeld, at: clock.wallTime)
        // Nothing is to be planned of what is held, unless it was changed here.
        changes.pending += isHeld ? noted : inodes
    }

    func waitForConfirmation(_ inode: InodeNumber) throws(Halt) -> SyncQueue.Outcome {
        guard try store.read({ try $0.pending(inode)?.failure }) != .awaitsConfirmation else {
            return .held
        }
        try store.write { try $0.setFailure(.awaitsConfirmation, attempts: 0, of: inode) }
        return .held
    }

    // MARK: Deleted here

    /// When what was deleted here may go out; nil for now.
    func deletionDue() throws(Halt) -> Duration? {
        guard deletions.withLock(\.mayHoldLocal) else { return nil }
        let now = clock.uptime
        return try store.read { database in
            let (due, waitingMin) = try deletions.withLock { guardian in
                (
                    try guardian.localDue(at: now) { try database.syncedCount() },
                    guardian.waitingMin
                )
            }
            guard due != nil, try database.hasPendingDeletions(over: waitingMin) else {
                return nil
            }
            return due
        }
    }

    func waitForBurst(_ inode: InodeNumber) throws(Halt) -> SyncQueue.Outcome {
        guard let due = try deletionDue() else { return .again(after: .zero) }
        if deletions.withLock(\.isLocalSuspicious),
            try store.read({ try $0.pending(inode)?.failure }) != .rests
        {
            // Those that come next are noted along with it.
            try store.write {
                try $0.setFailure(.rests, attempts: 0, of: inode)
                try $0.noteRests(after: inode, limit: configuration.removalsMax)
            }
        }
        return .again(after: max(due - clock.uptime, .milliseconds(1)))
    }

    /// Deletions that have not gone out when the process starts count as one burst.
    func recoverDeletions() throws(Halt) {
        let count = try store.read { try $0.pendingDeletionCount() }
        deletions.withLock { $0.noteLocal(count, at: clock.uptime) }
    }

    // MARK: Confirming

    /// Lets go what the guard holds, on both sides.
    ///
    /// - Returns: What was deleted on the remote and is now removed here, and how many items that
    ///   were deleted here go out.
    package func confirmDeletions() throws(EngineError) -> (here: HeldDeletions, onRemote: Int) {
        do throws(Halt) {
            let here = try store.read { try $0.heldDeletions(below: .root) }
            let (released, waiting) = try store.write {
                (try $0.releaseHeld(), try $0.pendingDeletions(limit: .max))
            }
            deletions.withLock { $0.confirm() }
            enqueue(released + waiting, after: .zero)
            return (here, waiting.count)
        } catch {
            throw error.failure
        }
    }

    /// What waits at or below an inode for somebody to confirm that it is to be removed here too.
    package func heldDeletions(below inode: InodeNumber) throws(EngineError) -> HeldDeletions {
        do throws(Halt) {
            return try store.read { try $0.heldDeletions(below: inode) }
        } catch {
            throw error.failure
        }
    }
}

/// How much of what the remote has deleted is held here.
package struct HeldDeletions: Hashable, Sendable {
    /// All items, those below the directories included.
    package var items = 0
    /// The directories that were seen to be gone, not those below them.
    package var directories = 0
    /// What lies below those.
    package var itemsInDirectories = 0
}

extension SyncFailure {
    fileprivate static let awaitsConfirmation = SyncFailure(
        kind: .busy, what: "remove it here as on the remote",
        why: "the remote has deleted very much at once",
        remedy: "`apus confirm-deletions` removes it here too; "
            + "put it back on the remote to keep it", isFinal: false)
    fileprivate static let rests = SyncFailure(
        kind: .busy, what: "delete it on the remote",
        why: "very much was deleted here at once; it rests for a minute",
        remedy: "`apus confirm-deletions` deletes it at once", isFinal: false)
}

extension Database {
    // Statements over very many inodes, which take them as a list in JSON.

    private static func list(_ inodes: [InodeNumber]) -> String {
        "[\(inodes.lazy.map { "\($0.rawValue)" }.joined(separator: ","))]"
    }

    /// Those that the remote has, as far as is known.
    fileprivate func agreed(among inodes: [InodeNumber]) throws -> [InodeNumber] {
        let statement = try cachedStatement(
            sql: """
                SELECT inode FROM synced WHERE inode IN (SELECT value FROM json_each(?))
                AND NOT EXISTS (
                    SELECT 1 FROM remote WHERE remote.inode = synced.inode AND gone = 1)
                ORDER BY inode
                """)
        return try Int64.fetchAll(statement, arguments: [Self.list(inodes)])
            .map { InodeNumber(rawValue: $0) }
    }

    /// What the remote was known to have of inodes and below them, but for what was deleted here.
    fileprivate func agreedItems(
        atOrBelow inodes: [InodeNumber]
    ) throws -> FastDatabaseValueCursor<Int64> {
        let statement = try cachedStatement(
            sql: """
                WITH RECURSIVE tree (node) AS (
                    SELECT value FROM json_each(?)
                    UNION ALL
                    SELECT synced.inode FROM synced JOIN tree ON synced.parent = tree.node
                )
                SELECT node FROM tree JOIN inodes ON inodes.id = node WHERE links > 0
                """)
        return try Int64.fetchCursor(statement, arguments: [Self.list(inodes)])
    }

    /// Notes that the remote no longer has inodes that it had, so that they are planned.
    ///
    /// - Returns: Those that were pending before.
    func noteGone(
        _ inodes: [InodeNumber], isHeld: Bool, at now: Timestamp
    ) throws -> [InodeNumber] {
        guard !inodes.isEmpty else { return [] }
        let list = Self.list(inodes)
        let pending = try Int64.fetchAll(
            cachedStatement(
                sql: """
                    SELECT inode FROM pending WHERE inode IN (SELECT value FROM json_each(?))
                    ORDER BY inode
                    """),
            arguments: [list])
        try cachedStatement(
            sql: """
                INSERT OR REPLACE INTO remote (inode, gone, kind, size, modified, held)
                SELECT value, 1, 0, 0, 0, ? FROM json_each(?)
                """
        ).execute(arguments: [isHeld, list])
        let reason: SyncFailure? = isHeld ? .awaitsConfirmation : nil
        try cachedStatement(
            sql: """
                INSERT INTO pending (inode, since, attempts, kind, what, why, remedy, final)
                SELECT value, ?, 0, ?, ?, ?, ?, ? FROM json_each(?) WHERE true
                ON CONFLICT (inode) DO NOTHING
                """
        ).execute(arguments: [
            now.nanoseconds, reason?.kind.rawValue, reason?.what, reason?.why, reason?.remedy,
            reason?.isFinal, list,
        ])
        return pending.map { InodeNumber(rawValue: $0) }
    }

    /// Whether the remote was seen to have an inode no more.
    func isNotedGone(_ inode: InodeNumber) throws -> Bool {
        let statement = try cachedStatement(
            sql: "SELECT EXISTS (SELECT 1 FROM remote WHERE inode = ? AND gone = 1)")
        return try Bool.fetchOne(statement, arguments: [inode.rawValue]) ?? false
    }

    /// What the remote has deleted, and nobody need confirm, ascending.
    func goneInodes(after inode: InodeNumber, limit: Int) throws -> [InodeNumber] {
        let statement = try cachedStatement(
            sql: """
                SELECT inode FROM remote WHERE inode > ? AND gone = 1 AND held = 0
                ORDER BY inode LIMIT ?
                """)
        return try Int64.fetchAll(statement, arguments: [inode.rawValue, limit])
            .map { InodeNumber(rawValue: $0) }
    }

    /// How many objects the remote is known to have.
    fileprivate func syncedCount() throws -> Int {
        try Int.fetchOne(cachedStatement(sql: "SELECT count(*) FROM synced")) ?? 0
    }

    // MARK: Held

    func hasHeld() throws -> Bool {
        let statement = try cachedStatement(
            sql: "SELECT EXISTS (SELECT 1 FROM remote WHERE held = 1)")
        return try Bool.fetchOne(statement) ?? false
    }

    func isHeld(_ inode: InodeNumber) throws -> Bool {
        let statement = try cachedStatement(
            sql: "SELECT EXISTS (SELECT 1 FROM remote WHERE inode = ? AND held = 1)")
        return try Bool.fetchOne(statement, arguments: [inode.rawValue]) ?? false
    }

    /// The nearest directory, by the places on the remote, whose deletion is held.
    func heldDirectory(atOrAbove directory: InodeNumber?) throws -> InodeNumber? {
        var current = directory
        while let inode = current, inode != .root {
            if try isHeld(inode) { return inode }
            current = try synced(inode)?.parent
        }
        return nil
    }

    fileprivate func heldDeletions(below ancestor: InodeNumber) throws -> HeldDeletions {
        var held = HeldDeletions()
        guard try hasHeld() else { return held }
        let roots = try Row.fetchAll(
            cachedStatement(
                sql: """
                    SELECT remote.inode, inodes.kind FROM remote
                    JOIN inodes ON inodes.id = remote.inode WHERE held = 1
                    """)
        ).filter { try ancestor == .root || isBelow(ancestor, InodeNumber(rawValue: $0[0])) }
        held.directories = roots.count { $0[1] == FileKind.directory.rawValue }
        // What is below a directory may have been seen to be gone before that, and counts once.
        let statement = try cachedStatement(
            sql: """
                WITH RECURSIVE tree (node) AS (
                    SELECT value FROM json_each(?)
                    UNION
                    SELECT dirents.inode FROM dirents JOIN tree ON dirents.parent = tree.node
                )
                SELECT count(*) FROM tree
                """)
        let list = Self.list(roots.map { InodeNumber(rawValue: $0[0]) })
        held.items = try Int.fetchOne(statement, arguments: [list]) ?? 0
        held.itemsInDirectories = held.items - roots.count
        return held
    }

    fileprivate func releaseHeld() throws -> [InodeNumber] {
        let inodes = try Int64.fetchAll(
            cachedStatement(sql: "SELECT inode FROM remote WHERE held = 1"))
        try cachedStatement(sql: "UPDATE remote SET held = 0 WHERE held = 1").execute()
        return inodes.map { InodeNumber(rawValue: $0) }
    }

    // MARK: Pending

    fileprivate func pendingDeletionCount() throws -> Int {
        try Int.fetchOne(cachedStatement(sql: "SELECT count(*) \(Self.pendingDeletions)")) ?? 0
    }

    fileprivate func pendingDeletions(limit: Int) throws -> [InodeNumber] {
        let statement = try cachedStatement(
            sql: "SELECT pending.inode \(Self.pendingDeletions) LIMIT ?")
        return try Int64.fetchAll(statement, arguments: [limit])
            .map { InodeNumber(rawValue: $0) }
    }

    fileprivate func hasPendingDeletions(over count: Int) throws -> Bool {
        let statement = try cachedStatement(
            sql: "SELECT count(*) FROM (SELECT 1 \(Self.pendingDeletions) LIMIT ?)")
        return try Int.fetchOne(statement, arguments: [count + 1]) ?? 0 > count
    }

    /// Says of deletions that have not been tried yet that they rest.
    fileprivate func noteRests(after inode: InodeNumber, limit: Int) throws {
        let reason = SyncFailure.rests
        try cachedStatement(
            sql: """
                UPDATE pending SET kind = ?, what = ?, why = ?, remedy = ?, final = ?
                WHERE inode IN (
                    SELECT pending.inode \(Self.pendingDeletions)
                    WHERE pending.inode > ? AND pending.what IS NULL
                    ORDER BY pending.inode LIMIT ?)
                """
        ).execute(arguments: [
            reason.kind.rawValue, reason.what, reason.why, reason.remedy, reason.isFinal,
            inode.rawValue, limit,
        ])
    }

    /// Rows of what has no name here, is on the remote, and has no successor in its place.
    private static let pendingDeletions = """
        FROM pending JOIN inodes ON inodes.id = pending.inode AND links = 0
        JOIN synced ON synced.inode = pending.inode
            AND NOT EXISTS (
                SELECT 1 FROM dirents
                WHERE dirents.parent = synced.parent AND dirents.name = synced.name)
        """
}
