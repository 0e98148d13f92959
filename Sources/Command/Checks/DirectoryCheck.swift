import Control
import Engine
import Foundation
import Host
import SystemCalls

/// A check of one state directory: of its database file, then of everything in it.
struct DirectoryCheck {
    let path: String
    let isDryRun: Bool

    private var database: String { "\(path)/\(StateDatabase.name)" }

    /// - Throws: `CommandFailure` if it is mounted, of a newer version, or cannot be read.
    func run() throws -> CheckResult {
        let held = try StateDirectory(checking: path)
        defer { withExtendedLifetime(held) {} }
        let progress = DelayedProgressLine()
        defer { progress.finish() }
        do {
            progress.show(CheckProgress(step: "the database", done: 0, total: nil).line)
            if !isDryRun { try makeRoom() }
            var report = CheckReport(isDryRun: isDryRun)
            let store = try store(&report)
            let check = StateCheck(
                store: store, disk: try PosixDisk(directory: path, isReadOnly: isDryRun),
                now: SystemClock().wallTime, owner: Caller(userID: geteuid(), groupID: getegid()),
                isDryRun: isDryRun)
            let found = try check.run { progress.show($0.line) }
            store.close()
            report.add(found)
            return CheckResult(stateDirectory: path, report: report)
        } catch let error as EngineError {
            throw CommandFailure(
                what: "check \(path)", why: error.attempt, remedy: error.remedy)
        } catch let error as DiskError {
            throw CommandFailure(what: error.attempt, why: error.reason)
        }
    }

    /// On a full disk, releases the space that is reserved for the database; the next mount reserves it
    /// again.
    private func makeRoom() throws(DiskError) {
        do {
            try MountChecks.room(in: path)
        } catch {
            try PosixDisk(directory: path).remove(DiskPath(PosixBallast.name))
        }
    }

    private func store(_ report: inout CheckReport) throws -> Store {
        let condition = try StateDatabase.condition(ofFileAt: database, thoroughly: true)
        switch condition {
        case .missing, .sound, .newer, .older:
            if let refusal = StateDatabase.refusal(condition, database) { throw refusal }
            return isDryRun
                ? try StateDatabase.copy(ofFileAt: database) : try Store(path: database)
        case .damaged(let words):
            let (store, tables, kept) = try rescue()
            report.add(
                CheckFinding(
                    .database, isDryRun ? .repairable : .repaired, path: StateDatabase.name,
                    what: "the database is damaged (\(words))",
                    repair: "its readable rows are saved into a new one; the old one is \(kept)"))
            for table in tables {
                report.add(
                    CheckFinding(
                        .database, table.isWhole ? .note : .lost, path: table.name,
                        what: "\(table.rows) rows are saved",
                        loss: table.isWhole ? nil : "the other rows of the table"))
            }
            return store
        }
    }

    /// - Returns: A store with the saved rows, their tables, and the name of the old database.
    private func rescue() throws -> (Store, [DatabaseRescue.Table], kept: String) {
        let kept = keptName
        if isDryRun {
            let (store, tables) = try DatabaseRescue.rehearse(database)
            return (store, tables, kept)
        }
        let draft = "\(database).saving"
        for suffix in ["", "-journal"] {
            try? FileManager.default.removeItem(atPath: draft + suffix)
        }
        let tables = try DatabaseRescue.rescue(database, into: draft)
        try putAside(as: kept)
        try rename(draft, to: database)
        return (try Store(path: database), tables, kept)
    }

    private var keptName: String {
        let name = { (number: Int) in "\(StateDatabase.name).damaged-\(number)" }
        let number = (1...).first { !FileManager.default.fileExists(atPath: "\(path)/\(name($0))") }
        return name(number ?? 0)
    }

    /// Gives the damaged database a second name, and renames its log accordingly. The new database then
    /// replaces the first name in one step, as a mount without a database would make an empty one.
    private func putAside(as kept: String) throws {
        guard link(database, "\(path)/\(kept)") == 0 else { throw failure(kept) }
        for suffix in ["-wal", "-shm"]
        where FileManager.default.fileExists(atPath: database + suffix) {
            try rename(database + suffix, to: "\(path)/\(kept)\(suffix)")
        }
    }

    private func rename(_ old: String, to new: String) throws {
        guard Foundation.rename(old, new) == 0 else { throw failure(new) }
    }

    private func failure(_ name: String) -> CommandFailure {
        CommandFailure(
            what: "keep the damaged database as \(name)",
            why: "\(SystemError.last)".lowercased())
    }
}

extension CheckProgress {
    fileprivate var line: String {
        "checking \(step)" + (total.map { ": \(done) of \($0)" } ?? "")
    }
}
