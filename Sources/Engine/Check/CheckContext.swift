import GRDB

/// One step of a check.
protocol CheckStep {
    init(context: CheckContext)

    func run() throws
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
            return try String.fetchOne(
                database, sql: "SELECT path FROM check_paths WHERE inode = ?",
                arguments: [inode])
        }
        return names.reversed().joined(separator: "/")
    }

    /// Keeps the path of an inode whose name is about to be removed, for ``describe(_:)``.
    func rememberPath(_ path: String, of inode: InodeNumber) throws {
        try database.execute(
            sql: "INSERT OR IGNORE INTO check_paths VALUES (?, ?)",
            arguments: [inode, path])
    }

    // MARK: Rows

    /// Calls `body` for each row of a query.
    ///
    /// - Parameter sql: A query ordered by its first column and with `:last` as lower bound of it.
    ///   Read a page at a time, so that repairs may change later rows.
    func forEach(_ sql: String, _ body: (Row) throws -> Void) throws {
        var last = Int64.min
        while true {
            let rows = try Row.fetchAll(
                database, sql: "\(sql) LIMIT 500", arguments: ["last": last])
            for row in rows { try body(row) }
            guard rows.count == 500, let end = rows.last?[0] as Int64? else { return }
            last = end
        }
    }

    func hasRow(_ sql: String, _ arguments: StatementArguments = []) throws -> Bool {
        try Int.fetchOne(database, sql: "SELECT 1 FROM \(sql)", arguments: arguments) != nil
    }

    /// Whether an inode has changes of its content that the remote does not have.
    func isChanged(_ record: InodeRecord) throws -> Bool {
        guard record.kind == .file else { return false }
        if try database.isChangedHere(record) { return true }
        return try record.isWriting && database.isPending(record.id)
    }

    /// Returns the length of an inode's content file, if it has one.
    func contentSize(of inode: InodeNumber) throws -> UInt64? {
        try Int64.fetchOne(
            database, sql: "SELECT size FROM check_content WHERE inode = ?",
            arguments: [inode]
        ).map { UInt64(stored: $0) }
    }

    /// Forgets a content file that is moved or removed.
    func forgetContent(of inode: InodeNumber) throws {
        try database.execute(
            sql: "DELETE FROM check_content WHERE inode = ?", arguments: [inode])
    }

    /// Marks a directory for another listing, since the remote may hold more than is known.
    func unlist(_ directory: InodeNumber) throws {
        try database.execute(
            sql: "UPDATE inodes SET listed = 0 WHERE id = ? AND kind = 1",
            arguments: [directory])
    }

    /// Stores an inode whose number is known from a name or a content file.
    ///
    /// - Parameter size: For a file, the size of its complete content file.
    func recreate(_ inode: InodeNumber, as kind: FileKind, size: UInt64 = 0) throws {
        let isFile = kind == .file
        try database.execute(
            sql: """
                INSERT INTO inodes (id, kind, mode, uid, gid, links, size, modified, changed,
                    presence, generation, writing, listed, accessed)
                VALUES (:id, :kind, :mode, :uid, :gid, :links, :size, :now, :now, :presence,
                    :generation, 0, 0, :now)
                """,
            arguments: [
                "id": inode, "kind": kind, "mode": isFile ? 0o644 : 0o755,
                "uid": owner.userID, "gid": owner.groupID, "links": isFile ? 1 : 2,
                "size": size.stored, "now": now,
                "presence": isFile ? Presence.whole : .remote,
                "generation": isFile ? 1 : 0,
            ])
    }
}
