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
            INSERT OR REPLACE INTO remote (inode, gone, kind, size, modified, held, confirmations)
            SELECT value, 1, 0, 0, 0, ?, ? FROM json_each(?)
            """, [isHeld, isHeld ? confirmationCount() : 0, list])
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
            SELECT inode FROM remote INDEXED BY remote_gone
            WHERE inode > ? AND gone = 1 AND held = 0 ORDER BY inode LIMIT ?
            """, [inode, limit])
    }

    func syncedCount() throws -> Int {
        try value("SELECT count(*) FROM synced") ?? 0
    }

    /// Whether a deletion on the remote, which is not held, is about to be carried out here.
    func hasReleasedDeletions() throws -> Bool {
        try hasRow(
            """
            remote INDEXED BY remote_gone CROSS JOIN pending ON pending.inode = remote.inode
            WHERE gone = 1 AND held = 0 AND final IS NOT 1
            """)
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

    // MARK: Confirmations

    /// Returns the number of confirmations so far: each includes the deletions held before it.
    func confirmationCount() throws -> Int64 {
        try value(
            "SELECT CAST(value AS INTEGER) FROM settings WHERE key = 'confirmations'") ?? 0
    }

    /// Confirms all deletions held until now; ``releaseConfirmed(after:limit:due:)`` carries that out.
    func noteConfirmation() throws {
        try run(
            "INSERT OR REPLACE INTO settings VALUES ('confirmations', ?)",
            ["\(confirmationCount() + 1)"])
    }

    /// Makes some of the confirmed inodes due, ascending, and ends their hold.
    ///
    /// - Returns: These inodes.
    func releaseConfirmed(
        after inode: InodeNumber, limit: Int, due: Duration
    ) throws -> [InodeNumber] {
        let inodes: [InodeNumber] = try values(
            """
            SELECT inode FROM remote INDEXED BY remote_held
            WHERE held = 1 AND inode > ? AND confirmations < ? ORDER BY inode LIMIT ?
            """, [inode, confirmationCount(), limit])
        try makeDue(inodes, due: due)
        try run(
            "UPDATE remote SET held = 0 WHERE inode IN (SELECT value FROM json_each(?))",
            [Self.list(inodes)])
        return inodes
    }

    // MARK: Listings whose deletions are held

    func isHeldListing(_ directory: InodeNumber) throws -> Bool {
        try hasRow("held_listings WHERE inode = ?", [directory])
    }

    /// Returns those of the directories that have some inodes on the remote whose deletions are held.
    func heldListings(of inodes: [InodeNumber]) throws -> [InodeNumber] {
        guard try hasRow("held_listings") else { return [] }
        return try values(
            """
            SELECT DISTINCT held_listings.inode FROM held_listings
            JOIN synced ON synced.parent = held_listings.inode
                AND synced.inode IN (SELECT value FROM json_each(?))
            """, [Self.list(inodes)])
    }

    func insertHeldListing(_ directory: InodeNumber) throws {
        try run("INSERT OR IGNORE INTO held_listings VALUES (?)", [directory])
    }

    func removeHeldListing(_ directory: InodeNumber) throws {
        try run("DELETE FROM held_listings WHERE inode = ?", [directory])
    }
}
