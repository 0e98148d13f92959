import GRDB

/// Compares the database of a state directory with itself, and with the files beside it, and puts
/// in order what can be. Nobody else may use either meanwhile.
///
/// What is wrong is never repaired by deleting bytes that may be the only copy: what has no place
/// is moved to `lost+found/`. What a killed process leaves behind is nothing wrong; see
/// `docs/formats.md`.
package struct StateCheck {
    private let store: Store
    private let disk: any Disk
    private let now: Timestamp
    private let owner: Caller
    private let isDryRun: Bool

    /// - Parameters:
    ///   - store: For a dry run a copy, since repairs are made in it, so that one leads to the next.
    ///   - disk: A dry run changes nothing on it.
    ///   - now: The time of day.
    ///   - owner: Who gets what has no owner any more.
    package init(
        store: Store, disk: any Disk, now: Timestamp, owner: Caller, isDryRun: Bool
    ) {
        self.store = store
        self.disk = disk
        self.now = now
        self.owner = owner
        self.isDryRun = isDryRun
    }

    /// Looks, repairs, and tells.
    ///
    /// All changes of the database are one transaction. Bytes are moved before it is committed:
    /// where that does not happen, the next check finds them in `lost+found/`.
    ///
    /// - Parameter progress: Called often.
    /// - Throws: What database and disk throw; nothing was changed in the database then.
    package func run(
        progress: @escaping (CheckProgress) -> Void = { _ in }
    ) throws(EngineError) -> CheckReport {
        do throws(Halt) {
            let report = try store.write { database in
                let run = CheckRun(
                    database, disk, now: now, owner: owner, isDryRun: isDryRun, progress)
                try run.perform()
                return run.report
            }
            if !isDryRun { try store.synchronize() }
            return report
        } catch {
            throw error.failure
        }
    }
}

/// One check, inside the transaction of its caller. The steps lie in the files beside this one.
final class CheckRun {
    let database: Database
    let disk: any Disk
    let now: Timestamp
    let owner: Caller
    let isDryRun: Bool
    var report: CheckReport
    private let progress: (CheckProgress) -> Void
    /// Names that are taken in `lost+found/`.
    private var lostNames: Set<String> = []

    static let lostFolder = DiskPath("lost+found")

    init(
        _ database: Database, _ disk: any Disk, now: Timestamp, owner: Caller, isDryRun: Bool,
        _ progress: @escaping (CheckProgress) -> Void
    ) {
        self.database = database
        self.disk = disk
        self.now = now
        self.owner = owner
        self.isDryRun = isDryRun
        self.progress = progress
        report = CheckReport(isDryRun: isDryRun)
    }

    /// Each step relies on those before it.
    func perform() throws {
        try database.execute(sql: Self.notes)
        defer { try? database.execute(sql: Self.notesEnd) }
        lostNames = Set(try files(below: Self.lostFolder).map(\.description))
        note("values")
        try checkValues()
        try checkRoot()
        try readContent()
        note("names")
        try checkNames()
        try checkReach()
        try checkLinks()
        note("extents and presence")
        try checkExtents()
        try checkPresence()
        try checkStrays()
        note("what both sides agreed on")
        try checkSynced()
        try checkPending()
        note("files of the state directory")
        try checkFiles()
        try keepNumbersApart()
        report.source = try String.fetchOne(
            database, sql: "SELECT value FROM settings WHERE key = 'source'")
        report.inodes = try Int.fetchOne(database, sql: "SELECT count(*) FROM inodes") ?? 0
    }

    /// What is noted during a check: the content files, what can be reached, old paths.
    private static let notes = """
        CREATE TEMP TABLE check_content (inode INTEGER PRIMARY KEY, size INTEGER NOT NULL);
        CREATE TEMP TABLE check_reached (inode INTEGER PRIMARY KEY);
        CREATE TEMP TABLE check_paths (inode INTEGER PRIMARY KEY, path TEXT NOT NULL);
        """
    private static let notesEnd = """
        DROP TABLE check_content; DROP TABLE check_reached; DROP TABLE check_paths;
        """

    // MARK: For the steps

    func note(_ step: String, done: Int = 0, of total: Int? = nil) {
        progress(CheckProgress(step: step, done: done, total: total))
    }

    /// Tells of something wrong that is put in order.
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

    /// Calls `body` for the rows of a query that has `:last` for the key to go on after, its first
    /// column. A page at a time, so that repairs may change the rest.
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

    func hasRow(_ sql: String, _ arguments: StatementArguments) throws -> Bool {
        try Int.fetchOne(database, sql: "SELECT 1 FROM \(sql)", arguments: arguments) != nil
    }

    /// The path of an inode for people, as far as names lead; circles end somewhere.
    func describe(_ inode: InodeNumber) throws -> String? {
        var names: [String] = []
        var current = inode
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
                arguments: [inode.rawValue])
        }
        return names.reversed().joined(separator: "/")
    }

    /// Has a directory listed anew: the remote may hold more than is known.
    func unlist(_ directory: InodeNumber) throws {
        try database.execute(
            sql: "UPDATE inodes SET listed = 0 WHERE id = ? AND kind = 1",
            arguments: [directory.rawValue])
    }

    // MARK: The disk

    func files(below folder: DiskPath) throws -> [DiskPath] {
        try onDisk { () throws(DiskError) in try disk.files(below: folder) }
    }

    func onDisk<Value>(_ body: () throws(DiskError) -> Value) throws(Halt) -> Value {
        do throws(DiskError) {
            return try body()
        } catch {
            throw .failure(EngineError(error, "check the state directory"))
        }
    }

    /// Moves a file to `lost+found/`, under a name that tells what it was.
    ///
    /// - Returns: Where it is now.
    @discardableResult
    func moveToLost(_ path: DiskPath, inode: InodeNumber?, was old: String?) throws -> DiskPath {
        let place = lostPlace(inode: inode, was: old ?? path.description)
        if !isDryRun { try onDisk { () throws(DiskError) in try disk.move(path, to: place) } }
        return place
    }

    /// Makes a file with these bytes.
    func write(_ bytes: [UInt8], to path: DiskPath) throws {
        guard !isDryRun else { return }
        try onDisk { () throws(DiskError) in
            let file = try disk.open(path)
            let failure = bytes.withUnsafeBytes { buffer -> DiskError? in
                do throws(DiskError) {
                    try file.write(buffer, at: 0)
                    return nil
                } catch {
                    return error
                }
            }
            if let failure { throw failure }
        }
    }

    /// A free path in `lost+found/`.
    func lostPlace(inode: InodeNumber?, was old: String) -> DiskPath {
        let place = Self.lostPlace(inode, Self.shown(old), taken: lostNames)
        lostNames.insert(place.description)
        return place
    }

    /// The end of a path as a part of a name on the disk.
    static func shown(_ path: String) -> String {
        String(path.map { $0 == "/" || $0 == "\0" || $0.isNewline ? "_" : $0 }.suffix(60))
    }

    /// `INODE-NAME` in `lost+found/`, or `INODE-2-NAME` and so on where that is taken.
    static func lostPlace(
        _ inode: InodeNumber?, _ name: String?, taken: Set<String>
    ) -> DiskPath {
        var attempt = 1
        while true {
            let words = [inode?.description, attempt > 1 ? "\(attempt)" : nil, name]
            let place = "\(lostFolder)/" + words.compactMap(\.self).joined(separator: "-")
            if !taken.contains(place) { return DiskPath(place) }
            attempt += 1
        }
    }
}
