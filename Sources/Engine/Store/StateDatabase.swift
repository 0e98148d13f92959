import Foundation
import GRDB

/// Inspects the database file of a state directory without changing it.
package enum StateDatabase {
    package static let name = "state.sqlite"

    package enum Condition: Hashable, Sendable {
        /// The file does not exist or is empty.
        case missing
        case sound
        /// With SQLite's message.
        case damaged(String)
        /// Made by a newer version of Apus.
        case newer
        /// Made by a version from before the first release.
        case older
    }

    /// Returns the condition of a database file.
    ///
    /// - Parameter thoroughly: Whether to read all of it (`PRAGMA integrity_check`).
    /// - Throws: `.denied` or `.failed` if the file cannot be read.
    package static func condition(
        ofFileAt path: String, thoroughly: Bool
    ) throws(EngineError) -> Condition {
        let size = try? FileManager.default.attributesOfItem(atPath: path)[.size] as? UInt64
        guard let size, size > 0 else { return .missing }
        do {
            return try reader(path).read { try condition(of: $0, thoroughly: thoroughly) }
        } catch let error as DatabaseError where error.saysDamage {
            return .damaged(error.message ?? "it cannot be read")
        } catch {
            throw EngineError(database: error, "read the state database \"\(path)\"")
        }
    }

    static func condition(of database: Database, thoroughly: Bool) throws -> Condition {
        if try Schema.isUnreleased(database) { return .older }
        let migrations = try Schema.migrator.appliedIdentifiers(database)
        if !migrations.isSubset(of: Schema.migrator.migrations) { return .newer }
        let tables: Set<String> = try Set(
            database.values("SELECT name FROM sqlite_master WHERE type = 'table'"))
        if tables.isEmpty { return .missing }
        guard tables.isSuperset(of: ["inodes", "dirents", "synced", "settings"]) else {
            return .damaged("tables of the state database are missing")
        }
        if migrations.isEmpty {
            return .damaged("its version is not recorded")
        }
        guard thoroughly else { return .sound }
        let words = try String.fetchAll(database, sql: "PRAGMA integrity_check(10)")
        return words == ["ok"] ? .sound : .damaged(words.joined(separator: ", "))
    }

    /// Why a database describes no file at all.
    package enum Blank: String, Sendable {
        case gone = "is gone"
        case empty = "is empty"
        case ofFiles = "describes no file"
    }

    /// Returns the reason why content files have no rows in the database beside them.
    ///
    /// - Parameter boot: The machine's current boot. Only a power failure can undo the rows of
    ///   files whose contents are stored.
    /// - Returns: nil if the database describes files, lost them in a power failure, or has another
    ///   fault.
    /// - Throws: As ``condition(ofFileAt:thoroughly:)``.
    package static func blank(
        ofFileAt path: String, boot: String
    ) throws(EngineError) -> Blank? {
        let attributes = try? FileManager.default.attributesOfItem(atPath: path)
        guard let attributes else { return .gone }
        // SQLite deletes the log of an empty file without reading it.
        if attributes[.size] as? UInt64 ?? 0 == 0 { return .empty }
        switch try condition(ofFileAt: path, thoroughly: false) {
        case .missing: return .empty
        case .damaged, .newer, .older: return nil
        case .sound: break
        }
        return try onDatabase("read the state database \"\(path)\"") {
            try reader(path).read { database in
                let last: String? = try database.value(
                    "SELECT value FROM settings WHERE key = 'boot'")
                if let last, last != boot { return nil }
                return try database.hasRow("inodes WHERE id <> 1") ? nil : .ofFiles
            }
        }
    }

    static func folder(of path: String) -> String {
        URL(filePath: path).deletingLastPathComponent().path(percentEncoded: false)
    }

    /// Returns the error of opening a database for writing; nil if nothing speaks against it.
    package static func refusal(_ condition: Condition, _ path: String) -> EngineError? {
        let (reason, remedy): (String, String)
        switch condition {
        case .missing, .sound: return nil
        case .damaged(let words):
            reason = "it is damaged (\(words))"
            remedy = "`apus check \(folder(of: path))` saves the readable rows"
        case .newer:
            reason = "a newer version of Apus made it"
            remedy = "install that version, or use another --state-dir"
        case .older:
            reason = "a version of Apus from before the first release made it, in another format"
            remedy = """
                its changes may not be uploaded yet: mount it with that version until `apus sync` \
                succeeds, then use another --state-dir
                """
        }
        return EngineError(
            .damaged, "open the state database \"\(path)\": \(reason)",
            remedy: "nothing was changed; \(remedy)")
    }

    /// - Parameter isDamaged: Whether to read as far as possible in a file that is truncated or has
    ///   an invalid table in its schema.
    static func reader(_ path: String, isDamaged: Bool = false) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.readonly = true
        configuration.busyMode = .timeout(5)
        configuration.prepareDatabase { database in
            // `ValueCheck` repairs invalid values, so they do not count as damage of the file.
            try database.execute(sql: "PRAGMA ignore_check_constraints = ON")
            // Makes SQLite ignore errors in the schema, also when it reads. Nothing is written.
            if isDamaged { try database.execute(sql: "PRAGMA writable_schema = ON") }
        }
        return try DatabaseQueue(path: path, configuration: configuration)
    }
}
