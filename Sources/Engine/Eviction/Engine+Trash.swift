import Foundation
import GRDB
import Logging

// What the remote deleted and was whole here is kept for a while, in the state directory. It is
// noted together with the deletion, so that a process that dies before it is moved there moves it at
// the next start.

extension Engine {
    /// How long it is kept, in nanoseconds.
    private static var trashAgeMax: Int64 { 30 * 86_400 * 1_000_000_000 }

    /// Notes that the bytes of a file that is about to lose its name go to the trash, if all of them
    /// are here.
    func discard(
        _ inode: InodeNumber, _ name: FileName, _ changes: inout RemoteChanges,
        _ database: Database
    ) throws {
        guard let record = try database.inode(inode), record.presence == .whole, record.size > 0,
            record.size <= trashBytesMax
        else { return }
        try database.setDiscarded(DiscardedRecord(name: name, time: clock.wallTime), of: inode)
        changes.discarded.append(inode)
    }

    /// Copies the bytes of a discarded file that somebody goes on reading to the trash, with its
    /// extended attributes. Those of others are moved there as they are reaped.
    func keepInTrash(_ inode: InodeNumber) {
        guard let file = files.existing(inode) else { return }
        do throws(Halt) {
            guard let (destination, _, attributes) = try placeInTrash(inode) else { return }
            try file.withState { state throws(Halt) in
                try onDisk("keep a removed file") { () throws(DiskError) in
                    set(attributes, of: try disk.clone(state.file, to: destination))
                }
            }
            trashBell.ring()
        } catch {
            // The remote wanted it gone; a copy is a courtesy.
            logger.warning(
                "removed file not kept", metadata: ["inode": "\(inode)", "reason": "\(error)"])
        }
    }

    /// Moves the bytes of a discarded file that nobody uses to the trash, with its extended
    /// attributes. Nothing happens to what is not discarded. Done twice, it comes to the same.
    func moveToTrash(_ inode: InodeNumber) throws(Halt) {
        guard let (destination, size, attributes) = try placeInTrash(inode) else { return }
        try onDisk("keep a removed file") { () throws(DiskError) in
            let file = try disk.open(OpenFile.path(of: inode))
            // It has been moved already, and this one is new and empty.
            guard try file.status().size >= size else { return }
            set(attributes, of: file)
            try disk.move(OpenFile.path(of: inode), to: destination)
        }
        trashBell.ring()
    }

    /// Where the bytes of a discarded file go, how many there are, and what goes along.
    private func placeInTrash(
        _ inode: InodeNumber
    ) throws(Halt) -> (path: DiskPath, size: UInt64, attributes: ExtendedAttributes)? {
        try store.read { database in
            guard let discarded = try database.discarded(inode),
                let record = try database.inode(inode), record.links == 0,
                record.presence == .whole
            else { return nil }
            return (
                Self.trashPath(inode, discarded), record.size,
                try database.extendedAttributes(of: inode)
            )
        }
    }

    private func set(_ attributes: ExtendedAttributes, of file: any DiskFile) {
        do throws(DiskError) {
            try file.setExtendedAttributes(attributes)
        } catch {
            // The bytes are worth more than what is known of them.
            logger.warning(
                "extended attributes of a removed file not kept",
                metadata: ["reason": "\(error.attempt): \(error.reason)"])
        }
    }

    private var trashBytesMax: UInt64 { configuration.cacheBytesMax / 10 }

    /// Sorts by the time of removal, and shows people what it was.
    private static func trashPath(_ inode: InodeNumber, _ discarded: DiscardedRecord) -> DiskPath {
        let digits = String(max(0, discarded.time.nanoseconds))
        let time = String(repeating: "0", count: 19 - digits.count) + digits
        return DiskPath("\(StateFiles.trashFolder)/\(time)-\(inode)-\(shown(discarded.name))")
    }

    /// When something was moved to the trash, in nanoseconds since 1970; nil for what somebody else
    /// has put there.
    private static func time(ofTrashAt path: DiskPath) -> Int64? {
        let name = path.description.dropFirst(StateFiles.trashFolder.description.utf8.count + 1)
        let parts = name.split(separator: "-", maxSplits: 2)
        guard parts.count == 3, parts[0].count == 19, Int64(parts[1]) != nil, !name.contains("/")
        else { return nil }
        return Int64(parts[0])
    }

    /// Removes what is too old, and the oldest of what is too much.
    func pruneTrash() throws(Halt) {
        try onDisk("clear the trash") { () throws(DiskError) in
            let oldest = clock.wallTime.nanoseconds - Self.trashAgeMax
            var kept: [(path: DiskPath, bytes: UInt64)] = []
            for path in try disk.files(below: StateFiles.trashFolder)
                .sorted(by: { $0.description < $1.description })
            {
                guard let time = Self.time(ofTrashAt: path) else { continue }
                if time < oldest {
                    try disk.remove(path)
                } else {
                    kept.append((path, try disk.open(path).status().allocatedBytes))
                }
            }
            var total = kept.reduce(0) { $0 + $1.bytes }
            for (path, bytes) in kept where total > trashBytesMax {
                try disk.remove(path)
                total -= bytes
            }
        }
    }
}

/// One row of `discarded`: a file that the remote has deleted, on its way to the trash.
private struct DiscardedRecord {
    var name: FileName
    /// When it was seen to be deleted.
    var time: Timestamp
}

extension Database {
    fileprivate func setDiscarded(_ discarded: DiscardedRecord, of inode: InodeNumber) throws {
        try cachedStatement(sql: "INSERT OR REPLACE INTO discarded VALUES (?, ?, ?)").execute(
            arguments: [inode.rawValue, discarded.name.data, discarded.time.nanoseconds])
    }

    fileprivate func discarded(_ inode: InodeNumber) throws -> DiscardedRecord? {
        let statement = try cachedStatement(
            sql: "SELECT name, time FROM discarded WHERE inode = ?")
        return try Row.fetchOne(statement, arguments: [inode.rawValue]).map { row in
            DiscardedRecord(
                name: FileName(stored: [UInt8](row[0] as Data)),
                time: Timestamp(nanoseconds: row[1]))
        }
    }

    func discardedInodes() throws -> [InodeNumber] {
        try Int64.fetchAll(cachedStatement(sql: "SELECT inode FROM discarded ORDER BY inode"))
            .map { InodeNumber(rawValue: $0) }
    }

    /// What may be torn after a power cut is no copy of anything.
    func forgetUnsafeDiscarded() throws {
        try execute(
            sql: """
                DELETE FROM discarded WHERE inode IN (SELECT inode FROM unsynced WHERE state < 2)
                """)
    }
}
