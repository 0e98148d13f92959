import GRDB

/// A walk through what the remote has deleted in bulk, each directory after its content: until then the
/// hold of the directory keeps what is in it.
struct RejectionWalk {
    /// The last of the held items that was begun.
    fileprivate var last = InodeNumber(rawValue: 0)
    /// The directories from a held one downwards, each with the last name that was looked at.
    fileprivate var directories: [(inode: InodeNumber, last: FileName?)] = []
    /// The number of items that are sent again.
    private(set) var sentCount = 0

    fileprivate mutating func noteSent() { sentCount += 1 }
}

extension Merge {
    /// Makes some of what the remote has deleted in bulk new local items, to be sent again. Files whose
    /// bytes are not all here stay held.
    ///
    /// - Returns: Whether there is more.
    mutating func rejectDeletions(_ walk: inout RejectionWalk) throws -> Bool {
        while changes.removalsLeft > 0 {
            changes.removalsLeft -= 1
            guard let directory = walk.directories.last else {
                guard let held = try database.heldInodes(after: walk.last, limit: 1).first else {
                    return false
                }
                walk.last = held
                try rejectDeletion(of: held, &walk)
                continue
            }
            // The remote may have it again.
            guard try database.isHeld(walk.directories[0].inode) else {
                walk.directories = []
                continue
            }
            let child = try database.syncedChildren(
                of: directory.inode, after: directory.last, limit: 1
            ).first
            if let child {
                walk.directories[walk.directories.count - 1].last = child.name
                try rejectDeletion(of: child.inode, &walk)
            } else {
                walk.directories.removeLast()
                if let record = try database.inode(directory.inode) { try sendAgain(record, &walk) }
            }
        }
        return true
    }

    private mutating func rejectDeletion(
        of inode: InodeNumber, _ walk: inout RejectionWalk
    ) throws {
        guard let record = try database.inode(inode) else { return }
        if record.kind == .directory {
            walk.directories.append((inode, nil))
        } else {
            try sendAgain(record, &walk)
        }
    }

    private mutating func sendAgain(_ former: InodeRecord, _ walk: inout RejectionWalk) throws {
        // Removed on both sides.
        guard former.links > 0 else { return try noteGone([former.id], isHeld: false) }
        guard try database.canReturn(former) else {
            if try !database.isHeld(former.id) { try noteGone([former.id], isHeld: true) }
            return try database.setFailure(.cannotReturn, attempts: 0, of: former.id)
        }
        var record = former
        record.hasMetadata = true
        if record.kind == .directory { record.isListed = true }
        if record.kind == .file, record.size == 0 { record.presence = .whole }
        try database.update(record, from: former)
        try database.removeSynced(record.id)
        try markPending(record.id)
        try database.setFailure(nil, attempts: 0, of: record.id)
        walk.noteSent()
    }
}

extension Database {
    /// Whether an item deleted on the remote can be sent to it again.
    fileprivate func canReturn(_ record: InodeRecord) throws -> Bool {
        if record.kind != .file || record.presence == .whole || record.size == 0 { return true }
        return try syncState(of: record.id).map(Planner.keepsWhenGone) ?? false
    }
}
