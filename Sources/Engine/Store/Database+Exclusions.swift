import GRDB

// Rows of `excluded`: items that a pattern of `--exclude` keeps on this machine. The remote never had them, and
// they are not pending. An item that leaves its name leaves the table too, by a trigger.

extension Database {
    /// Whether changes of an inode may exist only here: they are sent later, or never.
    func isOnlyHere(_ inode: InodeNumber) throws -> Bool {
        try isPending(inode) || isExcluded(inode)
    }

    func excludedCount() throws -> UInt64 {
        try value("SELECT count(*) FROM excluded") ?? 0
    }

    /// Keeps a new inode on this machine.
    func exclude(_ inode: InodeNumber) throws {
        try run("INSERT OR IGNORE INTO excluded VALUES (?)", [inode])
        // Of the name that the remote may have too, nothing is known here from now on.
        try setRemote(nil, of: inode)
        try removePending(inode)
    }

    /// Makes an excluded inode an ordinary new one, and has those in it looked at.
    func include(_ inode: InodeNumber, at now: Timestamp, due: Duration) throws {
        try run("DELETE FROM excluded WHERE inode = ?", [inode])
        try markPending(inode, at: now, due: due)
        try reconsiderExcluded(in: inode, at: now, due: due)
    }

    /// Has all excluded inodes planned again.
    func reconsiderExcluded(at now: Timestamp, due: Duration) throws {
        try reconsider("excluded WHERE true", at: now, due: due)
    }

    /// Has the excluded inodes in a directory planned again.
    func reconsiderExcluded(
        in directory: InodeNumber, at now: Timestamp, due: Duration
    ) throws {
        try reconsider(
            "dirents JOIN excluded USING (inode) WHERE parent = :directory",
            ["directory": directory],
            at: now, due: due)
    }

    /// Has the excluded inodes at any depth of a directory planned again. Those in an excluded directory follow
    /// it, see ``include(_:at:due:)``.
    func reconsiderExcluded(
        below directory: InodeNumber, at now: Timestamp, due: Duration
    ) throws {
        guard try hasRow("excluded") else { return }
        try reconsider(
            """
            (WITH RECURSIVE tree (node) AS (
                SELECT :directory
                UNION SELECT id FROM tree JOIN dirents ON parent = node JOIN inodes ON id = inode
                WHERE inodes.kind = :kind AND id NOT IN excluded
            ) SELECT node FROM tree)
            JOIN dirents ON parent = node JOIN excluded USING (inode) WHERE true
            """, ["directory": directory, "kind": FileKind.directory], at: now, due: due)
    }

    /// - Parameter rows: Tables of which one has the column `inode`, and a condition.
    private func reconsider(
        _ rows: String, _ arguments: Arguments = [:], at now: Timestamp, due: Duration
    ) throws {
        try run(
            """
            INSERT INTO pending (inode, since, attempts, due, due_max)
            SELECT inode, :since, 0, :due, :due + \(Self.postponementMax)
            FROM \(rows) ON CONFLICT (inode) DO NOTHING
            """, arguments + ["since": now, "due": due.nanoseconds])
    }

    /// Whether a directory here contains, at any depth, an item that the remote has.
    func hasSyncedItem(below directory: InodeNumber) throws -> Bool {
        try hasRow(
            """
            (WITH RECURSIVE tree (node) AS (
                SELECT inode FROM dirents WHERE parent = ?
                UNION SELECT dirents.inode FROM dirents JOIN tree ON dirents.parent = tree.node
            ) SELECT node FROM tree) JOIN synced ON synced.inode = node
            """, [directory])
    }

    /// Whether a name on the remote is known and not seen to be gone.
    func isShown(_ name: FileName, in directory: InodeNumber) throws -> Bool {
        try hasRow(
            """
            synced WHERE parent = ? AND name = ? AND NOT EXISTS (
                SELECT 1 FROM remote WHERE remote.inode = synced.inode AND gone = 1)
            """, [directory, name])
    }

    // MARK: Other patterns than before

    /// Returns the patterns that all known names of the remote were compared with; empty for none.
    func appliedExclusions() throws -> String {
        try value("SELECT value FROM settings WHERE key = 'exclude'") ?? ""
    }

    func setAppliedExclusions(_ text: String) throws {
        try run("INSERT OR REPLACE INTO settings VALUES ('exclude', ?)", [text])
    }

    /// Returns items that the remote is known to have, ascending.
    func syncedItems(
        after last: InodeNumber, limit: Int
    ) throws -> [(inode: InodeNumber, name: FileName, parent: InodeNumber, kind: FileKind)] {
        try rows(
            """
            SELECT inode, name, parent, kind FROM synced JOIN inodes ON id = inode
            WHERE inode > ? ORDER BY inode LIMIT ?
            """, [last, limit]
        ) { ($0[0], $0[1], $0[2], $0[3]) }
    }

    /// Returns the pending inodes and all directories above them, on both sides.
    func inodesAtOrAbovePending() throws -> Set<InodeNumber> {
        var found: Set<InodeNumber> = []
        var next: [InodeNumber] = try values("SELECT inode FROM pending")
        while let inode = next.popLast() {
            guard found.insert(inode).inserted else { continue }
            next += [try dirent(of: inode)?.parent, try synced(inode)?.parent].compactMap(\.self)
        }
        return found
    }
}
