import GRDB

/// A file from the trash with its new place.
struct RestoredFile {
    var record: TrashRecord
    /// The space that its content takes on the disk.
    var bytes: UInt64
    var parent: InodeNumber
    /// The name that it should have.
    var name: FileName
}

extension Tree {
    /// Stores new inodes for the bytes of files taken out of the trash, see ``Trash/take(_:)``, and removes
    /// their rows there. Each has its former mode, owner, time and extended attributes, and is uploaded.
    /// If a name is taken, a free one is chosen.
    ///
    /// - Returns: Their names.
    /// - Throws: `.notFound` if a directory was removed, `.readOnly`, `.outOfSpace`.
    func restore(_ files: [RestoredFile]) throws(Blocked) -> [FileName] {
        try configuration.requireWritable("restore files")
        try space.reserve(for: UInt64(files.count), "restore files")
        let now = clock.wallTime
        let due = agenda.due()
        let names = try store.write { database in
            try files.map { try restore($0, at: now, due: due, database) }
        }
        agenda.notify()
        return names
    }

    private func restore(
        _ file: RestoredFile, at now: Timestamp, due: Duration, _ database: Database
    ) throws -> FileName {
        _ = try database.listedDirectory(file.parent)
        let (record, name) = (file.record, try freeName(file.name, in: file.parent, database))
        guard let number = record.restored, try database.inode(number) == nil else {
            throw Blocked.failure(.failed, "restore \"\(record.path)\"")
        }
        var inode = InodeRecord(
            kind: .file, mode: record.mode, owner: record.owner, size: record.size,
            modified: record.modified, changed: now)
        inode.presence = .whole
        try database.insert(&inode, as: number)
        try database.insertDirent(name, in: file.parent, to: inode, on: .local, at: now)
        try database.setExtendedAttributes(record.extendedAttributes, of: number)
        try database.setLocalBytes(file.bytes, of: number)
        try database.markPending(number, at: now, due: due)
        try database.removeTrash(at: record.position)
        return name
    }

    /// Returns a name, or if that is taken, one like it.
    func freeName(
        _ name: FileName, in parent: InodeNumber, _ database: Database
    ) throws -> FileName {
        var (candidate, attempt) = (name, 0)
        while try !database.isFree(candidate, in: parent, traits.names) {
            candidate = ConflictName.make(
                of: name, host: configuration.hostName, at: clock.wallTime, attempt: attempt,
                isRestored: true)
            attempt += 1
        }
        return candidate
    }
}
