import GRDB

/// One row of `intents`: a change sent to the remote whose outcome is unknown.
///
/// It is stored before the request is sent, or with ``ProviderTraits/announcesWrites`` before the bytes
/// can be visible, and removed with the reply. If it is found without a
/// request in progress (the reply was lost, or the process was killed), its outcome is determined
/// before anything else is planned for the inode. Otherwise an object that we created would be
/// taken for a foreign one.
struct IntentRecord: Hashable {
    /// The parent directory of the object, if the change took place.
    var parent: InodeNumber
    var name: FileName
    /// The size of the object after the change.
    var size: UInt64
    var mode: UInt16
    var extendedAttributes: ExtendedAttributes
    var modified: Timestamp
    /// The ``InodeRecord/generation`` of its bytes after the change; of a directory, of its time.
    var generation: Int64
    /// The inode whose place on the remote it takes.
    var replaced: InodeNumber?
    /// The digest of an uploaded content; nil for other changes, if the store recognises writes, and
    /// for a large file until its bytes are about to become visible.
    var digest: ContentDigest?
    /// The etag of the object after an upload, if the provider knew it beforehand.
    var expected: ETag?
    /// The nonce that was sent with the bytes of a file, or identifies those of a moved one.
    var nonce: WriteNonce?
}

extension Database {
    func intent(of inode: InodeNumber) throws -> IntentRecord? {
        try row(
            """
            SELECT parent, name, size, mode, modified, generation, replaced, digest, xattrs,
                expected, nonce
            FROM intents WHERE inode = ?
            """, [inode]
        ) { IntentRecord($0) }
    }

    /// Returns the inode that may have taken a name on the remote.
    func intendedInode(_ name: FileName, in parent: InodeNumber) throws -> InodeNumber? {
        try value(
            "SELECT inode FROM intents WHERE parent = ? AND name = ? LIMIT 1", [parent, name])
    }

    /// Returns an inode that may have taken a name on the remote below a directory.
    func firstIntendedChild(of parent: InodeNumber) throws -> InodeNumber? {
        try value("SELECT inode FROM intents WHERE parent = ? LIMIT 1", [parent])
    }

    func setIntent(_ intent: IntentRecord, of inode: InodeNumber) throws {
        try run(
            "INSERT OR REPLACE INTO intents VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                inode, intent.parent, intent.name, intent.size.stored, intent.mode,
                intent.modified, intent.generation, intent.replaced, intent.digest,
                intent.extendedAttributes, intent.expected, intent.nonce,
            ])
    }

    /// Records the etag that an upload under way will give to its object.
    func setExpected(_ etag: ETag, of inode: InodeNumber) throws {
        try run("UPDATE intents SET expected = ? WHERE inode = ?", [etag, inode])
    }

    /// Records the digest of the content that an upload under way sends.
    func setDigest(_ digest: ContentDigest, of inode: InodeNumber) throws {
        try run("UPDATE intents SET digest = ? WHERE inode = ?", [digest, inode])
    }

    func removeIntent(of inode: InodeNumber) throws {
        try run("DELETE FROM intents WHERE inode = ?", [inode])
    }

    /// Whether a request may have replaced an inode on the remote.
    func isToBeReplaced(_ inode: InodeNumber) throws -> Bool {
        try hasRow("intents WHERE replaced = ?", [inode])
    }

    /// Returns the inode that may have moved if the position of `inode` on the remote is uncertain:
    /// itself, or a directory above it.
    func uncertainInode(atOrAbove inode: InodeNumber) throws -> InodeNumber? {
        var current = inode
        while current != .root {
            if try intent(of: current) != nil { return current }
            guard let synced = try synced(current) else { return nil }
            current = synced.parent
        }
        return nil
    }

    /// Returns the key of an object if a move in progress, of itself or of a directory above it,
    /// has already taken place; nil if there is no such move.
    func remoteKeyAhead(of inode: InodeNumber) throws -> ObjectKey? {
        guard let moved = try uncertainInode(atOrAbove: inode),
            let intent = try intent(of: moved),
            let key = try remoteKey(of: inode), let former = try remoteKey(of: moved),
            let place = try remoteKey(of: intent.parent)?.appending(intent.name),
            place != former
        else { return nil }
        return ObjectKey(place.names + key.names.dropFirst(former.names.count))
    }

    /// Returns all uncertain inodes above an inode, and those that they depend on: the search for a
    /// moved object starts with the directories above its two places.
    func uncertainInodes(atOrAbove inode: InodeNumber) throws -> Set<InodeNumber> {
        var found: Set<InodeNumber> = []
        var open = [inode]
        while let current = open.popLast() {
            guard let uncertain = try uncertainInode(atOrAbove: current),
                found.insert(uncertain).inserted, let intent = try intent(of: uncertain)
            else { continue }
            open.append(intent.parent)
            if let synced = try synced(uncertain) { open.append(synced.parent) }
        }
        return found
    }
}

extension Store {
    /// Stores an intent before its request is sent, if the plan for it still holds; on return it
    /// survives power loss. Concurrent requests share a sync of the log.
    ///
    /// - Returns: Whether the plan holds.
    func begin(
        _ intent: IntentRecord, of inode: InodeNumber, if isCurrent: (Database) throws -> Bool
    ) throws(Blocked) -> Bool {
        let isCurrent = try write { database in
            guard try isCurrent(database) else { return false }
            try database.setIntent(intent, of: inode)
            return true
        }
        // If a power cut lost the record but not the request's effect, the remote would hold an
        // unknown object of ours.
        if isCurrent { try synchronize() }
        return isCurrent
    }

    /// As ``begin(_:of:if:)``, for an upload: during its preparation the file may have been unlinked,
    /// or lost its place to a remote object.
    func beginUpload(_ intent: IntentRecord, of inode: InodeNumber) throws(Blocked) -> Bool {
        try begin(intent, of: inode) { database in
            guard try database.dirent(of: inode) != nil else { return false }
            let holder = try database.syncedInode(intent.name, in: intent.parent)
            return holder == nil || holder == inode || holder == intent.replaced
        }
    }
}

extension IntentRecord {
    fileprivate init(_ row: StatementRow) {
        parent = row[0]
        name = row[1]
        size = UInt64(stored: row[2])
        mode = row[3]
        modified = row[4]
        generation = row[5]
        replaced = row[6]
        digest = row[7]
        extendedAttributes = row[8] ?? ExtendedAttributes()
        expected = row[9]
        nonce = row[10]
    }
}
