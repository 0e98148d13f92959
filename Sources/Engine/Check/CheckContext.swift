import GRDB

/// One step of a check.
protocol CheckStep {
    var context: CheckContext { get }

    func run() throws
}

extension CheckStep {
    var database: Database { context.database }
}

/// The state that the steps of one check share, inside the transaction of ``StateCheck``.
final class CheckContext {
    let database: Database
    let now: Timestamp
    let owner: Caller
    let isDryRun: Bool
    let files: CheckedFiles
    var report: CheckReport
    private let progress: (CheckProgress) -> Void

    init(
        _ database: Database, _ disk: any Disk, now: Timestamp, owner: Caller, isDryRun: Bool,
        _ progress: @escaping (CheckProgress) -> Void
    ) throws(Blocked) {
        self.database = database
        self.now = now
        self.owner = owner
        self.isDryRun = isDryRun
        self.progress = progress
        files = try CheckedFiles(disk, isDryRun: isDryRun)
        report = CheckReport(isDryRun: isDryRun)
    }

    // MARK: Reporting

    func show(_ step: String, done: Int = 0, of total: Int? = nil) {
        progress(CheckProgress(step: step, done: done, total: total))
    }

    /// Reports an error: `.lost` with a loss, otherwise `.left` without a repair.
    func tell(
        _ kind: CheckFinding.Kind, _ inode: InodeNumber? = nil, path: String? = nil, _ what: String,
        repair: String? = nil, loss: String? = nil
    ) throws {
        let outcome: CheckFinding.Outcome =
            loss != nil ? .lost : repair == nil ? .left : isDryRun ? .repairable : .repaired
        let known = try path ?? inode.flatMap { try describe($0) }
        report.add(
            CheckFinding(
                kind, outcome, inode: inode, path: known, what: what, repair: repair, loss: loss))
    }

    /// Reports a state that is not an error.
    func note(
        _ kind: CheckFinding.Kind, path: DiskPath? = nil, _ what: String, repair: String
    ) {
        report.add(
            CheckFinding(kind, .note, path: path?.description, what: what, repair: repair))
    }

    /// Returns the path of an inode for people, as far as its names can be followed.
    func describe(_ inode: InodeNumber) throws -> String? {
        var names: [String] = []
        var current = inode
        // Directories may form a circle.
        while current != .root, names.count < 256 {
            if let dirent = try database.dirent(of: current) {
                names.append(dirent.name.description)
                current = dirent.parent
            } else if let synced = try database.synced(current) {
                names.append(synced.name.description)
                current = synced.parent
            } else {
                break
            }
        }
        if names.isEmpty {
            return try database.value("SELECT path FROM check_paths WHERE inode = ?", [inode])
        }
        return names.reversed().joined(separator: "/")
    }

    /// Keeps the path of an inode whose name is about to be removed, for ``describe(_:)``.
    func rememberPath(_ path: String?, of inode: InodeNumber) throws {
        guard let path else { return }
        try database.run("INSERT OR IGNORE INTO check_paths VALUES (?, ?)", [inode, path])
    }

    // MARK: Rows

    /// Calls `body` for each row that meets a condition, in the order of the first column, once for
    /// each value of it, with this value and the row.
    ///
    /// The rows are read a page at a time, so that repairs may change later rows.
    func forEach(
        _ columns: String, of table: String, where condition: String,
        _ body: (InodeNumber, Row) throws -> Void
    ) throws {
        let key = columns.prefix { $0 != "," }
        var last = Int64.min
        while true {
            let rows = try database.rows(
                """
                SELECT \(columns) FROM \(table) WHERE \(key) > ? AND (\(condition))
                GROUP BY \(key) ORDER BY \(key) LIMIT 500
                """, [last])
            for row in rows { try body(row[0], row) }
            guard rows.count == 500, let end = rows.last?[0] as Int64? else { return }
            last = end
        }
    }

    /// Removes the rows of a table that meet a condition.
    func removeRows(
        of table: String, where condition: String, _ kind: CheckFinding.Kind, _ fault: String,
        repair: String = "the row is removed"
    ) throws {
        let key = table == "dirents" ? "cookie" : "inode"
        try forEach(key, of: table, where: condition) { number, _ in
            try database.run("DELETE FROM \(table) WHERE \(key) = ?", [number])
            try tell(
                kind, table == "dirents" ? nil : number, "a row of \(table) \(fault)",
                repair: repair)
        }
    }

    /// Whether an inode has changes of its content that the remote does not have.
    func isChanged(_ record: InodeRecord) throws -> Bool {
        guard record.kind == .file else { return false }
        if try database.isChangedHere(record) { return true }
        return try record.isWriting && database.isOnlyHere(record.id)
    }

    /// Returns the length of an inode's content file, if it has one.
    func contentSize(of inode: InodeNumber) throws -> UInt64? {
        let size: Int64? = try database.value(
            "SELECT size FROM check_content WHERE inode = ?", [inode])
        return size.map { UInt64(stored: $0) }
    }

    /// Forgets a content file that is moved or removed.
    func forgetContent(of inode: InodeNumber) throws {
        try database.run("DELETE FROM check_content WHERE inode = ?", [inode])
    }

    /// Marks a directory for another listing, since the remote may hold more than is known.
    func unlist(_ directory: InodeNumber) throws {
        try database.run("UPDATE inodes SET listed = 0 WHERE id = ? AND kind = 1", [directory])
    }

    /// Stores an inode whose number is known from a name or a content file.
    ///
    /// - Parameter size: For a file, the size of its complete content file.
    func recreate(_ inode: InodeNumber, as kind: FileKind, size: UInt64 = 0) throws {
        let isFile = kind == .file
        try database.run(
            """
            INSERT INTO inodes (id, kind, mode, uid, gid, links, size, modified, changed,
                presence, generation, writing, listed, accessed)
            VALUES (:id, :kind, :mode, :uid, :gid, :links, :size, :now, :now, :presence,
                :generation, 0, 0, :now)
            """,
            [
                "id": inode, "kind": kind, "mode": isFile ? 0o644 : 0o755,
                "uid": owner.userID, "gid": owner.groupID, "links": isFile ? 1 : 2,
                "size": size.stored, "now": now,
                "presence": isFile ? Presence.whole : .remote,
                "generation": isFile ? 1 : 0,
            ])
    }

    // MARK: Circles

    /// Records inodes and all their descendants as reachable.
    ///
    /// - Parameters:
    ///   - inodes: A query of their numbers.
    ///   - table: The table of the places: `dirents` or `synced`.
    func reach(from inodes: String, by table: String) throws {
        try database.run(
            """
            WITH RECURSIVE below (inode) AS (
                \(inodes) UNION
                SELECT \(table).inode FROM below JOIN \(table) ON \(table).parent = below.inode)
            INSERT OR IGNORE INTO check_reached SELECT inode FROM below
            """)
    }

    /// Calls `cut` with a member of each circle of unreachable directories, which then counts as
    /// reachable.
    func breakCircles(
        in table: String, parent: (InodeNumber) throws -> InodeNumber?,
        cut: (InodeNumber) throws -> Void
    ) throws {
        let unreached = """
            SELECT inode FROM \(table)
            WHERE inode NOT IN (SELECT inode FROM check_reached) LIMIT 1
            """
        while var member: InodeNumber = try database.value(unreached) {
            // Follows the parents until one repeats.
            var seen: Set<InodeNumber> = []
            while seen.insert(member).inserted, let next = try parent(member) { member = next }
            try cut(member)
            try reach(from: "SELECT \(member)", by: table)
        }
    }
}
