import Synchronization

extension Engine {
    /// POSIX: `stat`.
    ///
    /// Of a file that only a listing has told of, waits for the rest, see
    /// ``requireDetails(of:)``.
    ///
    /// - Throws: `.notFound` once the inode is gone.
    package func attributes(of inode: InodeNumber) throws(Halt) -> Attributes {
        let found = try store.read { try seen($0.existingInode(inode), $0) }
        try requireDetails(of: found)
        return try current(found.record)
    }

    /// The attributes of an inode as they are now: a file that is being written knows its size and
    /// time better than the row that was read.
    func current(_ record: InodeRecord) throws(Halt) -> Attributes {
        var record = record
        // Its last writer may close between the reading of the row and the look at the open file.
        // The row that is read then, or the next writer's file, knows.
        while record.kind == .file, record.isWriting {
            if let written = files.existing(record.id)?.writtenState {
                var attributes = attributes(record)
                attributes.size = written.size
                attributes.modified = written.modified
                attributes.changed = max(attributes.changed, written.modified)
                return attributes
            }
            let id = record.id
            let isAbandoned = files.existing(id) == nil
            guard let row = try store.read({ try $0.inode(id) }) else { break }
            record = row
            if isAbandoned, files.existing(id) == nil { break }
        }
        return attributes(record)
    }

    private func attributes(_ record: InodeRecord) -> Attributes {
        var attributes = record.attributes
        attributes.isKindProvisional =
            attributes.isProvisional && record.kind == .file && !provider.traits.listsDetails
        return attributes
    }

    /// POSIX: `chmod`, `chown`, `truncate`, `utimensat`. Permissions were checked by the kernel.
    ///
    /// - Throws: `.notFound`, `.isDirectory` and `.tooLarge` for a size, `.outOfSpace`, `.readOnly`.
    package func setAttributes(
        of inode: InodeNumber, to change: AttributeChange
    ) throws(Halt) -> Attributes {
        try requireWritable("change inode \(inode)")
        if let size = change.size { try truncate(inode, to: size) }
        let now = clock.wallTime
        let modified: Timestamp? =
            switch change.modified {
            case .now: now
            case .at(let time): time
            case nil: nil
            }
        if let modified, let file = files.existing(inode) {
            // While it is written the time is kept beside the content, and stored at its release.
            try file.withState { state throws(Halt) in
                state.modified = modified
                if state.isMarkedWriting { try storeTime(inode, state) }
            }
        }
        let record = try store.write { database in
            var record = try database.existingInode(inode)
            record.mode = change.mode.map { $0 & 0o7777 } ?? record.mode
            record.userID = change.userID ?? record.userID
            record.groupID = change.groupID ?? record.groupID
            record.modified = modified ?? record.modified
            // Only times that somebody set are sent of a directory, not those of its changes.
            if modified != nil, record.kind == .directory { record.generation += 1 }
            record.changed = now
            try database.update(record)
            try database.markPending(inode, at: now)
            return record
        }
        enqueue(inode, after: configuration.settleTime)
        return try current(record)
    }

    /// Total and available space: the remote's where known, else ``StorageSpace/unknown``. The local
    /// disk refuses what it has no room for when that is written. POSIX: `statvfs`.
    package var space: StorageSpace { remoteSpace.withLock { $0 } ?? .unknown }

    func itemState(of inode: InodeNumber) throws(Halt) -> ItemState {
        if transfers.withLock({ $0[inode] != nil }) { return .uploading }
        let (record, isPending) = try store.read {
            (try $0.existingInode(inode), try $0.isPending(inode))
        }
        if isPending { return .dirty }
        if record.kind == .directory { return record.isListed ? .local : .remote }
        if record.kind == .symlink { return .local }
        if let file = files.existing(inode) {
            return file.state.withLock { state in
                if state.isWhole { return .local }
                return state.present.gaps(in: 0..<state.size) == [0..<state.size]
                    ? .remote : .partial
            }
        }
        return record.size == 0 ? .local : ItemState(record.presence)
    }
}

/// What is here of an item, and what of it is on the remote.
package enum ItemState: String, Sendable {
    /// No bytes are here.
    case remote
    /// Some bytes are here.
    case partial
    /// All bytes are here and on the remote.
    case local
    /// It differs from the remote and waits to be sent.
    case dirty
    /// It is being sent.
    case uploading
}

extension ItemState {
    /// The state of an item on which both sides agree.
    init(_ presence: Presence?) {
        self =
            switch presence {
            case .remote, nil: .remote
            case .partial: .partial
            case .whole: .local
            }
    }
}
