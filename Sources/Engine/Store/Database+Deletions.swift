import GRDB

extension Database {
    // Statements over very many inodes, passed as a JSON list.

    static func list(_ inodes: [InodeNumber]) -> String {
        "[\(inodes.lazy.map { "\($0.rawValue)" }.joined(separator: ","))]"
    }

    /// Returns those inodes that are known to be on the remote.
    func agreed(among inodes: [InodeNumber]) throws -> [InodeNumber] {
        try values(
            """
            SELECT inode FROM synced WHERE inode IN (SELECT value FROM json_each(?))
            AND NOT EXISTS (SELECT 1 FROM remote WHERE remote.inode = synced.inode AND gone = 1)
            ORDER BY inode
            """, [Self.list(inodes)])
    }

    /// Returns the inodes known to be on the remote at or below some, without locally deleted ones.
    func agreedItems(
        atOrBelow inodes: [InodeNumber]
    ) throws -> FastDatabaseValueCursor<InodeNumber> {
        let statement = try cachedStatement(
            sql: """
                WITH RECURSIVE tree (node) AS (
                    SELECT value FROM json_each(?)
                    UNION ALL
                    SELECT synced.inode FROM synced JOIN tree ON synced.parent = tree.node
                )
                SELECT node FROM tree JOIN inodes ON inodes.id = node WHERE links > 0
                """)
        return try InodeNumber.fetchCursor(statement, arguments: [Self.list(inodes)])
    }

    /// Records that inodes were deleted on the remote, and makes them due. Of held ones only those
    /// that were pending before become due.
    func noteGone(
        _ inodes: [InodeNumber], isHeld: Bool, at now: Timestamp, due: Duration
    ) throws {
        guard !inodes.isEmpty else { return }
        let list = Self.list(inodes)
        try run(
            """
            INSERT OR REPLACE INTO remote (inode, gone, kind, size, modified, held)
            SELECT value, 1, 0, 0, 0, ? FROM json_each(?)
            """, [isHeld, list])
        try run(
            """
            INSERT INTO pending
                (inode, since, attempts, kind, what, why, remedy, final, due, due_max)
            SELECT value, :since, 0, :kind, :what, :why, :remedy, :final,
                iif(:isHeld, NULL, :due), :due + \(Self.postponementMax)
            FROM json_each(:list) WHERE true
            ON CONFLICT (inode) DO UPDATE SET \(Self.dueAssignment)
            """,
            Self.failureArguments(isHeld ? .awaitsConfirmation : nil)
                + ["since": now, "isHeld": isHeld, "due": due.nanoseconds, "list": list])
    }

    /// Returns inodes deleted on the remote whose deletion is not held, ascending.
    func goneInodes(after inode: InodeNumber, limit: Int) throws -> [InodeNumber] {
        try values(
            """
            SELECT inode FROM remote WHERE inode > ? AND gone = 1 AND held = 0
            ORDER BY inode LIMIT ?
            """, [inode, limit])
    }

    func syncedCount() throws -> Int {
        try value("SELECT count(*) FROM synced") ?? 0
    }

    // MARK: Held

    func hasHeld() throws -> Bool {
        try hasRow("remote WHERE held = 1")
    }

    func isHeld(_ inode: InodeNumber) throws -> Bool {
        try hasRow("remote WHERE inode = ? AND held = 1", [inode])
    }

    /// Returns the nearest directory, by the places on the remote, whose deletion is held.
    func heldDirectory(atOrAbove directory: InodeNumber?) throws -> InodeNumber? {
        var current = directory
        while let inode = current, inode != .root {
            if try isHeld(inode) { return inode }
            current = try synced(inode)?.parent
        }
        return nil
    }

    func heldDeletions(below ancestor: InodeNumber) throws -> HeldDeletions {
        var held = HeldDeletions()
        guard try hasHeld() else { return held }
        let above = Self.below(ancestor, of: "(SELECT inode FROM remote WHERE held = 1)")
        // An inode below a held directory may have been seen to be deleted earlier; it counts once.
        let row = try row(
            """
            \(above.isEmpty ? "WITH RECURSIVE" : "\(above),")
            root (inode) AS (SELECT inode FROM remote \(Self.isBelow(ancestor)) AND held = 1),
            tree (node) AS (
                SELECT inode FROM root
                UNION
                SELECT dirents.inode FROM dirents JOIN tree ON dirents.parent = tree.node
            )
            SELECT (SELECT count(*) FROM tree), (SELECT count(*) FROM root),
                (SELECT count(*) FROM root JOIN inodes ON id = inode WHERE kind = :directory)
            """, Self.arguments(ancestor, ["directory": FileKind.directory]))
        guard let row else { return held }
        held.items = row[0]
        held.itemsInDirectories = held.items - row[1]
        held.directories = row[2]
        return held
    }

    /// Returns the first inodes after `inode` whose remote deletion is held, ascending.
    func heldInodes(after inode: InodeNumber, limit: Int) throws -> [InodeNumber] {
        try values(
            "SELECT inode FROM remote WHERE held = 1 AND inode > ? ORDER BY inode LIMIT ?",
            [inode, limit])
    }

    /// Makes the held inodes due, and ends their hold.
    func releaseHeld(due: Duration) throws {
        try run(
            """
            UPDATE pending SET \(Self.dueAssignment)
            WHERE inode IN (SELECT inode FROM remote WHERE held = 1)
            """, ["due": due.nanoseconds])
        try run("UPDATE remote SET held = 0 WHERE held = 1")
    }

    /// Whether a deletion on the remote, which is not held, is about to be carried out here.
    func hasReleasedDeletions() throws -> Bool {
        try hasRow(
            """
            remote JOIN pending ON pending.inode = remote.inode
            WHERE gone = 1 AND held = 0 AND final IS NOT 1
            """)
    }

    // MARK: Pending

    func pendingDeletionCount() throws -> Int {
        try value("SELECT count(*) \(Self.pendingDeletions)") ?? 0
    }

    /// Makes the pending deletions due.
    ///
    /// - Returns: Their number.
    func enqueueDeletions(due: Duration) throws -> Int {
        try run(
            """
            UPDATE pending SET \(Self.dueAssignment)
            WHERE inode IN (SELECT pending.inode \(Self.pendingDeletions))
            """, ["due": due.nanoseconds])
        return changesCount
    }

    /// Postpones deletions that are due earlier and were not tried yet.
    func postponeDeletions(after inode: InodeNumber, limit: Int, due: Duration) throws {
        try run(
            """
            UPDATE pending SET due = :due
            WHERE due < :due AND (what IS NULL OR kind IS 'busy') AND inode IN (
                SELECT pending.inode \(Self.pendingDeletions)
                WHERE pending.inode > :inode ORDER BY pending.inode LIMIT :limit)
            """, ["due": due.nanoseconds, "inode": inode, "limit": limit])
    }

    /// Makes the pending deletions conflict with what the remote has, as agreed: so they are undone when
    /// they are planned. A directory comes back with the first item in it.
    ///
    /// - Returns: Their number.
    func undoDeletions() throws -> Int {
        try run(
            """
            INSERT INTO remote (inode, gone, kind, etag, size, modified, mode, target, has_metadata, xattrs)
            SELECT pending.inode, 0, inodes.kind, synced.etag, synced.size, synced.modified,
                synced.mode, inodes.target, inodes.has_metadata, synced.xattrs
            \(Self.pendingDeletions)
            WHERE NOT EXISTS (SELECT 1 FROM remote WHERE remote.inode = pending.inode)
            AND NOT EXISTS (SELECT 1 FROM intents WHERE intents.inode = pending.inode)
            AND NOT (synced.parent = 1
                AND substr(synced.name, 1, \(FileName.asidePrefix.utf8.count))
                    = CAST('\(FileName.asidePrefix)' AS BLOB))
            AND (inodes.kind <> \(FileKind.file.rawValue) OR synced.etag NOT NULL)
            AND (inodes.kind <> \(FileKind.directory.rawValue)
                OR NOT EXISTS (SELECT 1 FROM synced AS child WHERE child.parent = synced.inode))
            """)
        return try value(
            """
            SELECT count(*) \(Self.pendingDeletions)
            WHERE inodes.kind = \(FileKind.directory.rawValue)
                OR EXISTS (SELECT 1 FROM remote WHERE remote.inode = pending.inode AND gone = 0)
            """) ?? 0
    }

    func hasPendingDeletions(over count: Int) throws -> Bool {
        try hasRow("(SELECT 1 \(Self.pendingDeletions) LIMIT 1 OFFSET ?)", [count])
    }

    /// Sets the reason of deletions that were not tried yet to ``SyncFailure/rests``.
    func noteRests(after inode: InodeNumber, limit: Int) throws {
        try run(
            """
            UPDATE pending SET \(Self.failureAssignment) WHERE inode IN (
                SELECT pending.inode \(Self.pendingDeletions)
                WHERE pending.inode > :inode AND pending.what IS NULL
                ORDER BY pending.inode LIMIT :limit)
            """, Self.failureArguments(.rests) + ["inode": inode, "limit": limit])
    }

    /// Pending inodes without a local name that are on the remote, and whose place no other inode
    /// takes.
    private static let pendingDeletions = """
        FROM pending JOIN inodes ON inodes.id = pending.inode AND links = 0
        JOIN synced ON synced.inode = pending.inode
            AND NOT EXISTS (
                SELECT 1 FROM dirents
                WHERE dirents.parent = synced.parent AND dirents.name = synced.name)
        """
}
