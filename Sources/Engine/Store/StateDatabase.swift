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
            return try reader(path).read { database in
                if try Schema.migrator.hasBeenSuperseded(database) { return .newer }
                let tables = try Set(
                    String.fetchAll(
                        database, sql: "SELECT name FROM sqlite_master WHERE type = 'table'"))
                if tables.isEmpty { return .missing }
                guard tables.isSuperset(of: ["inodes", "dirents", "synced", "settings"]) else {
                    return .damaged("tables of the state database are missing")
                }
                guard thoroughly else { return .sound }
                let words = try String.fetchAll(database, sql: "PRAGMA integrity_check(10)")
                return words == ["ok"] ? .sound : .damaged(words.joined(separator: ", "))
            }
        } catch let error as DatabaseError where error.saysDamage {
            return .damaged(error.message ?? "it cannot be read")
        } catch {
            throw EngineError(database: error, "read the state database \"\(path)\"")
        }
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
        case .damaged, .newer: return nil
        case .sound: break
        }
        do {
            return try reader(path).read { database in
                let last = try String.fetchOne(
                    database, sql: "SELECT value FROM settings WHERE key = 'boot'")
                if let last, last != boot { return nil }
                let hasFiles = try Bool.fetchOne(
                    database, sql: "SELECT EXISTS (SELECT 1 FROM inodes WHERE id <> 1)")
                return hasFiles == true ? nil : .ofFiles
            }
        } catch {
            throw EngineError(database: error, "read the state database \"\(path)\"")
        }
    }

    static func folder(of path: String) -> String {
        URL(filePath: path).deletingLastPathComponent().path(percentEncoded: false)
    }

    /// - Throws: `.damaged` for a file that must not be opened for writing.
    static func requireUsable(_ path: String) throws(EngineError) {
        switch try condition(ofFileAt: path, thoroughly: false) {
        case .missing, .sound: return
        case .damaged(let words): throw damaged(path, words)
        case .newer: throw newer(path)
        }
    }

    package static func damaged(_ path: String, _ words: String) -> EngineError {
        EngineError(
            .damaged, "open the state database \"\(path)\": it is damaged (\(words))",
            remedy: "nothing was changed; `apus check \(folder(of: path))` saves the readable rows")
    }

    package static func newer(_ path: String) -> EngineError {
        EngineError(
            .damaged, "open the state database \"\(path)\": a newer version of Apus made it",
            remedy: "nothing was changed; install that version, or use another --state-dir")
    }

    /// - Parameter isDamaged: Whether to read as far as possible in a file that is truncated or has
    ///   an invalid table in its schema.
    static func reader(_ path: String, isDamaged: Bool = false) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.readonly = true
        configuration.busyMode = .timeout(5)
        if isDamaged {
            // Makes SQLite ignore errors in the schema, also when it reads. Nothing is written.
            configuration.prepareDatabase { database in
                try database.execute(sql: "PRAGMA writable_schema = ON")
            }
        }
        return try DatabaseQueue(path: path, configuration: configuration)
    }
}
