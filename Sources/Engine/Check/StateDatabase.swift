import Foundation
import GRDB

/// The database file of a state directory, looked at without changing it.
package enum StateDatabase {
    package static let name = "state.sqlite"

    package enum Condition: Hashable, Sendable {
        /// There is none, or one in which nothing was ever stored.
        case missing
        case sound
        /// SQLite's words.
        case damaged(String)
        /// A newer version of Apus made it.
        case newer
    }

    /// What can be said of a database file.
    ///
    /// - Parameter thoroughly: Whether to read all of it (`PRAGMA integrity_check`).
    /// - Throws: What keeps it from being looked at: `.denied`, `.failed`.
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
                    return .damaged("it has not the tables of a state database")
                }
                guard thoroughly else { return .sound }
                let words = try String.fetchAll(database, sql: "PRAGMA integrity_check(10)")
                return words == ["ok"] ? .sound : .damaged(words.joined(separator: ", "))
            }
        } catch let error as DatabaseError where error.saysDamage {
            return .damaged(error.message ?? "it cannot be read")
        } catch {
            throw Store.translate(error, "look at the state database \"\(path)\"")
        }
    }

    /// Why a database tells of no file at all.
    package enum Blank: String, Sendable {
        case gone = "is gone"
        case empty = "is empty"
        case ofFiles = "tells of no file"
    }

    /// Whether contents that lie beside a database lack one that says whose they are.
    ///
    /// - Parameter boot: Of the machine, now. A power cut may take the rows of files back whose
    ///   contents are here; nothing else does.
    /// - Returns: nil for a database that tells of files, had its files taken by a power cut, or has
    ///   something else wrong with it.
    /// - Throws: As ``condition(ofFileAt:thoroughly:)``.
    package static func blank(
        ofFileAt path: String, boot: String
    ) throws(EngineError) -> Blank? {
        let attributes = try? FileManager.default.attributesOfItem(atPath: path)
        guard let attributes else { return .gone }
        // SQLite removes the log of such a file without a look.
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
            throw Store.translate(error, "look at the state database \"\(path)\"")
        }
    }

    /// What of a mount that has ended is not on the remote yet.
    ///
    /// - Throws: Where the database cannot be read, or is of another version.
    package static func pendingSummary(
        ofFileAt path: String
    ) throws(EngineError) -> PendingSummary {
        do {
            return try reader(path).read { database in
                var summary = try database.pendingSummary(below: .root)
                for file in try database.inodes(where: Self.isBeingWritten, limit: -1) {
                    let content = "\(Self.folder(of: path))/\(OpenFile.path(of: file))"
                    let attributes = try? FileManager.default.attributesOfItem(atPath: content)
                    guard let size = attributes?[.size] as? UInt64 else { continue }
                    let stored = try database.inode(file)?.size ?? 0
                    summary.bytes = summary.bytes - min(summary.bytes, stored) + size
                }
                return summary
            }
        } catch {
            throw Store.translate(error, "look at the state database \"\(path)\"")
        }
    }

    /// Files that were open for writing and changed when the daemon died: the content file, and not
    /// the database, knows how long they are. Of one that is here in part, both do.
    private static let isBeingWritten = """
        writing = 1 AND links > 0 AND kind = \(FileKind.file.rawValue)
            AND presence = \(Presence.whole.rawValue)
            AND id IN (SELECT inode FROM pending)
        """

    private static func folder(of path: String) -> String {
        URL(filePath: path).deletingLastPathComponent().path(percentEncoded: false)
    }

    /// - Throws: `.damaged` for a file that must not be opened for writing: it stays as it is.
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
            remedy: "nothing was changed; `apus check \(folder(of: path))` saves what can be saved")
    }

    package static func newer(_ path: String) -> EngineError {
        EngineError(
            .damaged, "open the state database \"\(path)\": a newer version of Apus made it",
            remedy: "nothing was changed; install that version, or use another --state-dir")
    }

    /// A store over a copy of a sound database, gone when the store is.
    package static func copy(ofFileAt path: String) throws(EngineError) -> Store {
        let copy: DatabaseQueue
        do {
            copy = try DatabaseQueue(path: "")
            if try condition(ofFileAt: path, thoroughly: false) == .sound {
                try reader(path).backup(to: copy)
            }
        } catch let error as EngineError {
            throw error
        } catch {
            throw Store.translate(error, "copy the state database \"\(path)\"")
        }
        return try Store(copy)
    }

    /// - Parameter isDamaged: Reads what there is of a file that is shorter than it says, or in whose
    ///   schema a table makes no sense.
    static func reader(_ path: String, isDamaged: Bool = false) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.readonly = true
        configuration.busyMode = .timeout(5)
        if isDamaged {
            // For reading, too, this is what has SQLite go on. Nothing is written.
            configuration.prepareDatabase { database in
                try database.execute(sql: "PRAGMA writable_schema = ON")
            }
        }
        return try DatabaseQueue(path: path, configuration: configuration)
    }
}

extension DatabaseError {
    /// Whether the disk has no room: for the log, or for the index of the log.
    var saysFull: Bool {
        resultCode == .SQLITE_FULL || extendedResultCode == .SQLITE_IOERR_SHMSIZE
    }

    /// Whether the file is at fault.
    var saysDamage: Bool {
        resultCode == .SQLITE_CORRUPT || resultCode == .SQLITE_NOTADB
    }
}
