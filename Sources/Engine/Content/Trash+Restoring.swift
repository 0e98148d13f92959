import GRDB
import Logging

/// Files whose bytes have left the trash, and belong to inodes that are not stored yet.
struct TakenFiles {
    /// Each with ``TrashRecord/restored``, and the space that its content takes on the disk.
    var files: [(record: TrashRecord, bytes: UInt64)] = []
    /// Those whose bytes were not in the trash any more.
    var missing: [TrashRecord] = []
    /// Those whose bytes are not in the trash yet, as a program has them open.
    var inUse: [TrashRecord] = []
}

// A restore moves the bytes to the content file of a new inode, which is not stored before they are
// on the disk. Until then the row in the trash has the number of that inode, by which the next process
// moves the bytes back.

extension Trash {
    /// Moves the bytes of files in the trash to the places of new inodes, one each. The caller stores the
    /// inodes, and removes the rows in the same transaction; if that fails, it calls ``putBack(_:)``.
    func take(_ positions: [Int64]) throws(Blocked) -> TakenFiles {
        var (taken, claimed) = try claim(positions)
        // A power cut must not take the numbers under which the bytes are found.
        try store.synchronize()
        do throws(Blocked) {
            while let record = claimed.first {
                if let bytes = try moveToContent(record) {
                    taken.files.append((record, bytes))
                } else {
                    try forget(record)
                    taken.missing.append(record)
                }
                claimed.removeFirst()
            }
        } catch {
            putBack(taken.files.map(\.record) + claimed)
            throw error
        }
        return taken
    }

    /// Gives the inodes of a restore their numbers.
    private func claim(
        _ positions: [Int64]
    ) throws(Blocked) -> (taken: TakenFiles, claimed: [TrashRecord]) {
        try store.write { database in
            var (taken, claimed) = (TakenFiles(), [TrashRecord]())
            var last = try database.lastInodeNumber()
            for var record in try database.trash(at: positions) where record.restored == nil {
                guard try !database.isMovingToTrash(record.inode) else {
                    taken.inUse.append(record)
                    continue
                }
                last += 1
                record.restored = InodeNumber(rawValue: last)
                try database.setRestored(record.restored, at: record.position)
                claimed.append(record)
            }
            try database.passInodeNumbers(upTo: last)
            return (taken, claimed)
        }
    }

    /// - Returns: The space that the bytes take; nil if they are gone.
    private func moveToContent(_ record: TrashRecord) throws(Blocked) -> UInt64? {
        guard let inode = record.restored else { return nil }
        let content = StateFiles.content(of: inode)
        return try onDisk("take \"\(record.path)\" out of the trash") { () throws(DiskError) in
            do throws(DiskError) {
                try disk.move(Self.path(of: record), to: content)
            } catch  where error.kind == .missing {
                return nil
            }
            // Before the inode exists: a power cut must not leave it without its bytes.
            let file = try disk.open(content)
            try file.synchronize()
            let status = try file.status()
            return status.size < record.size ? nil : status.allocatedBytes
        }
    }

    /// Removes the row of a file whose bytes are gone, or are too few.
    private func forget(_ record: TrashRecord) throws(Blocked) {
        if let inode = record.restored {
            try LostAndFound(disk: disk).keep(
                StateFiles.content(of: inode), of: inode, name: record.path.names.last)
        }
        try store.write { try $0.removeTrash(at: record.position) }
    }

    /// Moves bytes back to the trash whose inodes were not stored. Failures are left to the next start.
    func putBack(_ records: [TrashRecord]) {
        for record in records {
            do throws(Blocked) {
                try putBack(record)
            } catch {
                logger.warning(
                    "file not put back into the trash",
                    metadata: ["path": "\(record.path)", "reason": "\(error)"])
            }
        }
    }

    private func putBack(_ record: TrashRecord) throws(Blocked) {
        guard let inode = record.restored else { return }
        let isStored = try store.read { try $0.inode(inode) != nil }
        let (content, path) = (StateFiles.content(of: inode), Self.path(of: record))
        if !isStored {
            try onDisk("put \"\(record.path)\" back into the trash") { () throws(DiskError) in
                if try disk.status(of: content) != nil, try disk.status(of: path) == nil {
                    try disk.move(content, to: path)
                }
            }
        }
        try store.write { try $0.setRestored(nil, at: record.position) }
    }

    /// Puts the files back whose restore the end of the process before has interrupted.
    func recover() throws(Blocked) {
        putBack(try store.read { try $0.trashBeingRestored() })
    }

    /// Returns files in the trash, or on their way there, that were at or below a path.
    ///
    /// - Parameter position: As returned for the page before; 0 for the first.
    /// - Returns: Up to `limit` of them, in the order of their deletion; nil as position after the last.
    func files(
        below path: ObjectKey, after position: Int64, limit: Int
    ) throws(Blocked) -> (files: [TrashedFile], next: Int64?) {
        let (records, waiting) = try store.read { database in
            let records = try database.trash(below: path, after: position, limit: limit)
            return (
                records,
                Set(try records.map(\.inode).filter(database.isMovingToTrash))
            )
        }
        var files: [TrashedFile] = []
        for record in records {
            let path = Self.path(of: record)
            if !waiting.contains(record.inode) {
                let status = try onDisk("read \(path)", do: disk.status(of: path))
                if status == nil { continue }
            }
            files.append(TrashedFile(record))
        }
        return (files, records.count == limit ? records.last?.position : nil)
    }
}

extension TrashedFile {
    init(_ record: TrashRecord) {
        self.init(
            path: record.path.description, size: record.size, modified: record.modified,
            deleted: record.time,
            end: Timestamp(nanoseconds: record.time.nanoseconds + Trash.ageMax))
    }
}
