import GRDB

extension Tree {
    func parent(of directory: InodeNumber) throws(Blocked) -> InodeNumber {
        guard directory != .root else { return .root }
        let dirent = try store.readBriefly { try $0.dirent(of: directory) }
        guard let dirent else { throw .failure(.notFound, "find the parent of inode \(directory)") }
        return dirent.parent
    }

    func symbolicLink(_ inode: InodeNumber) throws(Blocked) -> SymbolicLink {
        try store.readBriefly { database in
            guard let link = try symbolicLink(database.existingInode(inode), database) else {
                throw Blocked.failure(.invalid, "read inode \(inode) as a symbolic link")
            }
            return link
        }
    }

    /// Returns nil if the inode is not a symbolic link. Links made by local programs are followed
    /// by them.
    func symbolicLink(_ record: InodeRecord, _ database: Database) throws -> SymbolicLink? {
        guard let target = record.target else { return nil }
        var link = SymbolicLink(target: target, isContained: false)
        guard configuration.containsSymlinks, !record.isMadeHere else { return link }
        let needed = LinkContainment(mountPoint: configuration.mountPoint).depthNeeded(target)
        link.isContained =
            try needed.map { try $0 > 0 && $0 > depth(of: record.id, database) } ?? true
        return link
    }

    /// Returns the number of directories above an inode, not counting the root; 0 for one without a
    /// name.
    private func depth(of inode: InodeNumber, _ database: Database) throws -> Int {
        guard try database.dirent(of: inode) != nil else { return 0 }
        return try database.path(of: inode).count - 1
    }

    /// Creates an empty file that is marked as being written.
    func createFile(
        _ name: FileName, in parent: InodeNumber, mode: UInt16, caller: Caller
    ) throws(Blocked) -> InodeRecord {
        var inode = newInode(.file, mode: mode, caller: caller)
        inode.presence = .whole
        inode.isWriting = true
        return try insert(inode, name, in: parent)
    }

    func createDirectory(
        _ name: FileName, in parent: InodeNumber, mode: UInt16, caller: Caller
    ) throws(Blocked) -> Attributes {
        var inode = newInode(.directory, mode: mode, caller: caller)
        inode.isListed = true
        inode.isMadeHere = true
        return try insert(inode, name, in: parent).attributes
    }

    /// POSIX: PATH_MAX, without the NUL at its end.
    static var targetBytesMax: Int { 4_095 }

    func createSymlink(
        _ name: FileName, in parent: InodeNumber, target: [UInt8], caller: Caller
    ) throws(Blocked) -> Attributes {
        guard traits.keepsSymlinks else {
            throw .failure(.unsupported, "create a symbolic link on \(traits.name)")
        }
        guard (1...Self.targetBytesMax).contains(target.count) else {
            throw .failure(
                .nameTooLong, "create a symbolic link with a target of \(target.count) bytes")
        }
        var inode = newInode(.symlink, mode: 0o777, caller: caller)
        inode.target = target
        inode.isMadeHere = true
        inode.size = UInt64(target.count)
        return try insert(inode, name, in: parent).attributes
    }

    private func newInode(_ kind: FileKind, mode: UInt16, caller: Caller) -> InodeRecord {
        let now = clock.wallTime
        return InodeRecord(
            kind: kind, mode: mode & 0o7777, owner: caller, size: 0, modified: now, changed: now)
    }

    private func insert(
        _ inode: InodeRecord, _ name: FileName, in parent: InodeNumber
    ) throws(Blocked) -> InodeRecord {
        try configuration.requireWritable("create \"\(name)\"")
        try space.reserve(for: 1, "create \"\(name)\"")
        // A file becomes due after its release.
        let delay = inode.kind == .file ? configuration.longWriterInterval : .zero
        let due = agenda.due(after: delay)
        let created = try store.write { database in
            var inode = inode
            if try database.dirent(name, in: parent) != nil {
                throw Blocked.failure(.exists, "create \"\(name)\" in inode \(parent)")
            }
            let directory = try database.listedDirectory(parent)
            // POSIX: items in a set-group-ID directory inherit its group, directories also the bit.
            if directory.mode & 0o2000 != 0 {
                inode.groupID = directory.groupID
                if inode.kind == .directory { inode.mode |= 0o2000 }
            }
            try database.insert(&inode)
            try database.insertDirent(
                name, in: parent, to: inode, on: .local, at: inode.changed)
            if try isExcluded(name, in: parent, inode.kind, database) {
                try database.exclude(inode.id)
            } else {
                try database.markPending(inode.id, at: inode.changed, dueIfNew: due)
            }
            if inode.kind == .file { try database.markUnsafe(inode.id, isChanged: true) }
            return inode
        }
        agenda.notify(due: due)
        return created
    }

    /// Removes a name.
    ///
    /// - Parameter isDirectory: Whether it has to be that of an empty directory, or of anything but
    ///   a directory.
    func remove(
        _ name: FileName, in parent: InodeNumber, isDirectory: Bool, keepsCopy: Bool = false
    ) throws(Blocked) -> Removal {
        try configuration.requireWritable("remove \"\(name)\"")
        let now = clock.wallTime
        return try store.write { database in
            let (dirent, inode) = try find(name, in: parent, database)
            if isDirectory {
                try requireEmpty(inode, database)
            } else if inode.kind == .directory {
                throw Blocked.failure(.isDirectory, "remove the directory \"\(name)\" as a file")
            }
            if keepsCopy { try database.discard(inode.id, dirent, configuration, at: now) }
            let hasUncovered = try remove(dirent, inode, on: .local, at: now, database)
            return Removal(
                inode: inode.id, isOnRemote: try database.isSynced(inode.id),
                hasContent: inode.presence != .remote || inode.isWriting,
                hasUncovered: hasUncovered)
        }
    }

    private func find(
        _ name: FileName, in parent: InodeNumber, _ database: Database
    ) throws -> (Dirent, InodeRecord) {
        guard let dirent = try database.dirent(name, in: parent) else {
            _ = try database.listedDirectory(parent)
            throw Blocked.failure(.notFound, "find \"\(name)\" in inode \(parent)")
        }
        return (dirent, try database.existingInode(dirent.inode))
    }

    private func requireEmpty(_ inode: InodeRecord, _ database: Database) throws {
        _ = try database.existingDirectory(inode.id)
        if try database.hasDirents(inode.id) {
            throw Blocked.failure(.notEmpty, "remove the directory \(inode.id)")
        }
        _ = try database.listedDirectory(inode.id)
    }

    /// Removes an inode's last name and schedules the inode for synchronisation.
    ///
    /// - Parameter side: See ``Database/record(_:on:_:in:from:at:)``.
    /// - Returns: See ``Removal/hasUncovered``.
    private func remove(
        _ dirent: Dirent, _ inode: InodeRecord, on side: RecordedChange.Side?, at now: Timestamp,
        _ database: Database
    ) throws -> Bool {
        let hasUncovered = try database.removeDirent(
            dirent, kind: inode.kind, on: side, at: now)
        var unlinked = inode
        unlinked.links = 0
        unlinked.changed = now
        try database.update(unlinked, from: inode)
        // Delayed, so that no part of a bulk deletion is sent before its size is known.
        try database.markPending(
            inode.id, at: now, due: agenda.due(after: configuration.deletionDelay))
        return hasUncovered
    }

    func rename(
        _ name: FileName, in parent: InodeNumber, to newName: FileName,
        in newParent: InodeNumber, mode: RenameMode, keepsCopy: Bool = false
    ) throws(Blocked) -> Renaming {
        try configuration.requireWritable("rename \"\(name)\"")
        let now = clock.wallTime
        let renaming = try store.write { database in
            let (dirent, inode) = try find(name, in: parent, database)
            _ = try database.listedDirectory(newParent)
            if inode.kind == .directory, try database.isInode(newParent, atOrBelow: inode.id) {
                throw Blocked.failure(.invalid, "move \"\(name)\" into itself")
            }
            let isKeptHere = try isExcluded(newName, in: newParent, inode.kind, database)
            let wasKeptHere = try stays(name, in: parent, inode, database)
            if isKeptHere, !wasKeptHere {
                // The remote would lose what then is only here.
                throw Blocked.failure(
                    .crossDevice, "rename \"\(name)\" to the excluded name \"\(newName)\"")
            }
            let wasMarked = try database.isExcluded(inode.id)
            let target = try database.dirent(newName, in: newParent)
            var uncovered: [InodeNumber] = []
            if let target {
                guard mode == .replace else {
                    throw Blocked.failure(.exists, "rename \"\(name)\" to \"\(newName)\"")
                }
                // POSIX: if both are names of one file, nothing happens.
                if target.inode == inode.id { return Renaming() }
                if keepsCopy {
                    try database.discard(target.inode, target, configuration, at: now)
                }
                if try replace(target, by: inode, at: now, database) { uncovered.append(newParent) }
                // Many programs save a file by renaming a new one over it.
                try database.passPin(from: target.inode, to: inode.id)
            }
            let hasUncovered = try database.moveDirent(
                dirent, to: newName, in: newParent, of: inode, at: now)
            if hasUncovered { uncovered.append(parent) }
            try database.noteReplacement(of: target?.inode, by: inode)
            try database.touchChanged(inode.id, at: now)
            try database.removeConflict(inode.id)
            if isKeptHere {
                try database.exclude(inode.id)
            } else {
                try database.markPending(inode.id, at: now, due: agenda.due())
            }
            if inode.kind == .directory, !configuration.exclusions.isEmpty {
                try reconsiderExcluded(
                    in: inode.id, leaving: !isKeptHere && (wasKeptHere || wasMarked), at: now,
                    database)
            }
            return Renaming(replaced: target?.inode, uncovered: uncovered)
        }
        agenda.notify()
        return renaming
    }

    /// Whether a pattern keeps an item of a name here.
    private func isExcluded(
        _ name: FileName, in parent: InodeNumber, _ kind: FileKind, _ database: Database
    ) throws -> Bool {
        let exclusions = configuration.exclusions
        if exclusions.isEmpty { return false }
        return exclusions.contain(
            try database.path(of: parent) + [name], isDirectory: kind == .directory)
    }

    /// Whether a pattern keeps an item here, which the remote does not have.
    private func stays(
        _ name: FileName, in parent: InodeNumber, _ inode: InodeRecord, _ database: Database
    ) throws -> Bool {
        try isExcluded(name, in: parent, inode.kind, database) && !database.isSynced(inode.id)
    }

    /// Has excluded items planned again that may not be excluded any more, as a directory was renamed.
    private func reconsiderExcluded(
        in directory: InodeNumber, leaving isLeaving: Bool, at now: Timestamp,
        _ database: Database
    ) throws {
        if configuration.exclusions.dependOnPaths {
            try database.reconsiderExcluded(below: directory, at: now, due: agenda.due())
        } else if isLeaving {
            try database.reconsiderExcluded(in: directory, at: now, due: agenda.due())
        }
    }

    /// - Returns: See ``Removal/hasUncovered``.
    private func replace(
        _ target: Dirent, by inode: InodeRecord, at now: Timestamp, _ database: Database
    ) throws -> Bool {
        let replaced = try database.existingInode(target.inode)
        switch (inode.kind == .directory, replaced.kind == .directory) {
        case (true, false):
            throw Blocked.failure(
                .notDirectory, "replace the file \"\(target.name)\" with a directory")
        case (false, true):
            throw Blocked.failure(
                .isDirectory, "replace the directory \"\(target.name)\" with a file")
        case (true, true): try requireEmpty(replaced, database)
        case (false, false): break
        }
        // The move to its name tells that.
        return try remove(target, replaced, on: nil, at: now, database)
    }
}
