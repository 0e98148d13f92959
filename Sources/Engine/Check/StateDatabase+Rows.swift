import Foundation
import GRDB

extension StateDatabase {
    /// Returns the source to which a state belongs; nil before its first mount.
    ///
    /// - Throws: As ``pendingSummary(ofFileAt:)``.
    package static func source(ofFileAt path: String) throws(EngineError) -> String? {
        try onDatabase("read the state database \"\(path)\"") {
            try reader(path).read {
                try $0.value("SELECT value FROM settings WHERE key = 'source'")
            }
        }
    }

    /// Returns the pending changes of a mount that has ended.
    ///
    /// - Throws: If the database cannot be read or is of another version.
    package static func pendingSummary(
        ofFileAt path: String
    ) throws(EngineError) -> PendingSummary {
        try onDatabase("read the state database \"\(path)\"") {
            try reader(path).read { database in
                var summary = try database.pendingSummary(below: .root)
                // One that an earlier version has made lacks it until the next mount.
                if try database.tableExists("excluded") {
                    summary.excluded = try database.excludedCount()
                }
                for file in try database.inodes(where: Self.isBeingWritten, limit: -1) {
                    let content = "\(Self.folder(of: path))/\(StateFiles.content(of: file))"
                    let attributes = try? FileManager.default.attributesOfItem(atPath: content)
                    guard let size = attributes?[.size] as? UInt64 else { continue }
                    let stored = try database.inode(file)?.size ?? 0
                    summary.bytes = summary.bytes - min(summary.bytes, stored) + size
                }
                return summary
            }
        }
    }

    /// Whole files that were being written when the daemon died: only the content file has their
    /// length. The length of a partial file is in the database too.
    private static let isBeingWritten = """
        writing = 1 AND links > 0 AND kind = \(FileKind.file.rawValue)
            AND presence = \(Presence.whole.rawValue)
            AND id IN (SELECT inode FROM pending)
        """

    /// Returns the files in the trash of a mount that has ended, in the order of their deletion.
    ///
    /// - Throws: As ``pendingSummary(ofFileAt:)``.
    package static func trash(ofFileAt path: String) throws(EngineError) -> [TrashedFile] {
        try onDatabase("read the state database \"\(path)\"") {
            try reader(path).read { database in
                // One that an earlier version has made lacks it until the next mount.
                guard try database.tableExists("trash") else { return [] }
                return try database.trash(below: .root, after: 0, limit: -1).filter { record in
                    // The next mount moves it there.
                    if try database.inode(record.inode) != nil { return true }
                    let file = "\(Self.folder(of: path))/\(Trash.path(of: record))"
                    return FileManager.default.fileExists(atPath: file)
                }.map { TrashedFile($0) }
            }
        }
    }

    /// Returns a store over a copy of a sound database; the copy is removed with the store.
    package static func copy(ofFileAt path: String) throws(EngineError) -> Store {
        try onDatabase("copy the state database \"\(path)\"") {
            let condition = try condition(ofFileAt: path, thoroughly: false)
            if let refusal = refusal(condition, path) { throw refusal }
            let copy = try DatabaseQueue(path: "")
            if condition == .sound { try reader(path).backup(to: copy) }
            return try Store(copy)
        }
    }
}
