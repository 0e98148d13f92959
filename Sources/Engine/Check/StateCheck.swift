import GRDB

/// Compares the database of a state directory with itself and with the files beside it, and repairs
/// it. Neither may be in use.
///
/// No repair deletes bytes that may be the only copy: bytes without a place are moved to
/// `lost+found/`. Leftovers of a killed process are not errors; see `docs/formats.md`.
package struct StateCheck {
    private let store: Store
    private let disk: any Disk
    private let now: Timestamp
    private let owner: Caller
    private let isDryRun: Bool

    /// - Parameters:
    ///   - store: For a dry run, a copy: each repair is made in it, and later steps rely on it.
    ///   - disk: Not changed by a dry run.
    ///   - now: The time of day.
    ///   - owner: The new owner of items whose owner is not known.
    package init(
        store: Store, disk: any Disk, now: Timestamp, owner: Caller, isDryRun: Bool
    ) {
        self.store = store
        self.disk = disk
        self.now = now
        self.owner = owner
        self.isDryRun = isDryRun
    }

    /// Checks, repairs and reports.
    ///
    /// All changes of the database are one transaction. Bytes are moved before its commit: if it
    /// fails, the next check finds them in `lost+found/`.
    ///
    /// - Parameter progress: Called often.
    /// - Throws: Errors of the database and the disk; the database is unchanged then.
    package func run(
        progress: @escaping (CheckProgress) -> Void = { _ in }
    ) throws(EngineError) -> CheckReport {
        do throws(Blocked) {
            let report = try store.write { database in
                try prepare(database)
                defer { try? database.execute(sql: Self.notesEnd) }
                let context = try CheckContext(
                    database, disk, now: now, owner: owner, isDryRun: isDryRun, progress)
                for (name, check) in steps(context) {
                    context.show(name)
                    try check.run()
                }
                if !isDryRun {
                    try database.forgetNamesakes()
                    // Repairs are not recorded, and those who watch are to look at everything.
                    try database.endHistory()
                }
                context.report.source = try database.value(
                    "SELECT value FROM settings WHERE key = 'source'")
                context.report.inodes = try database.value("SELECT count(*) FROM inodes") ?? 0
                return context.report
            }
            if !isDryRun { try store.synchronize() }
            return report
        } catch {
            throw error.failure
        }
    }

    /// Each step relies on those before it.
    private func steps(_ context: CheckContext) -> [(name: String, check: any CheckStep)] {
        [
            ("values", ValueCheck(context: context)),
            ("the root", RootCheck(context: context)),
            ("content files", ContentInventory(context: context)),
            ("names", NameCheck(context: context)),
            ("reachability", ReachCheck(context: context)),
            ("link counts", LinkCountCheck(context: context)),
            ("extents", ExtentCheck(context: context)),
            ("presence", PresenceCheck(context: context)),
            ("stray content", StrayCheck(context: context)),
            ("synced state", SyncCheck(context: context)),
            ("pending changes", PendingCheck(context: context)),
            ("files of the state directory", LeftoverCheck(context: context)),
            ("numbers", NumberCheck(context: context)),
            ("totals", TotalsCheck(context: context)),
        ]
    }

    /// Makes the temporary tables: the content files, the reachable inodes, and former paths.
    ///
    /// They and the function stay with the connection: each addition and removal makes SQLite
    /// compile all statements anew.
    private func prepare(_ database: Database) throws {
        if try database.tableExists("check_content") { return }
        database.add(function: ValueCheck.isEncoded)
        try database.execute(
            sql: """
                CREATE TEMP TABLE check_content (inode INTEGER PRIMARY KEY, size INTEGER NOT NULL);
                CREATE TEMP TABLE check_reached (inode INTEGER PRIMARY KEY);
                CREATE TEMP TABLE check_paths (inode INTEGER PRIMARY KEY, path TEXT NOT NULL);
                """)
    }

    private static let notesEnd = """
        DELETE FROM check_content; DELETE FROM check_reached; DELETE FROM check_paths;
        """
}
