import GRDB

// Inodes that were moved to a temporary name on the remote.

extension Database {
    /// Whether a file that is not open for writing has contents that the remote never had.
    func isChangedHere(_ record: InodeRecord) throws -> Bool {
        guard let synced = try synced(record.id), synced.etag != nil else { return true }
        return synced.generation != record.generation
    }

    /// Whether an inode has a temporary name of this mount on the remote; those of other mounts do
    /// not count.
    func isAside(_ inode: InodeNumber, at synced: SyncedRecord) throws -> Bool {
        try synced.parent == .root && synced.name.bytes.starts(with: FileName.asidePrefix.utf8)
            && synced.name == .aside(inode, salt: salt())
    }

    /// Returns the salt that distinguishes this mount's generated names from those of other mounts.
    func salt() throws -> String {
        try value("SELECT value FROM settings WHERE key = 'salt'") ?? ""
    }

    /// Records the local path of an inode before it gets a temporary name on the remote.
    func notePathBeforeMove(of inode: InodeNumber) throws {
        let path = try ObjectKey(path(of: inode))
        try run(
            "UPDATE synced SET path_before_move = ?, parent_before_move = ? WHERE inode = ?",
            [path, try nearestNamedDirectory(above: inode), inode])
    }

    /// Returns the lowest local directory that contains an inode, or contained it before that and
    /// perhaps directories above it were removed.
    private func nearestNamedDirectory(above inode: InodeNumber) throws -> InodeNumber {
        var current = inode
        while current != .root {
            if let parent = try dirent(of: current)?.parent { return parent }
            guard let parent = try parentOnRemote(of: current) else { break }
            current = parent
            if try dirent(of: current) != nil { return current }
        }
        return .root
    }

    /// Returns the directory of an inode on the remote; for one with a temporary name, the directory
    /// that it was in before.
    func parentOnRemote(of inode: InodeNumber) throws -> InodeNumber? {
        try value("SELECT \(Self.parentOnRemote) FROM synced WHERE inode = ?", [inode])
    }

    /// Temporary names are in the root. Those of other mounts have no former directory.
    static var parentOnRemote: String {
        "iif(parent = 1 AND substr(name, 1, \(FileName.asidePrefix.utf8.count)) = "
            + "CAST('\(FileName.asidePrefix)' AS BLOB), coalesce(parent_before_move, parent), parent)"
    }

    /// Returns the local path that an inode had before it got a temporary name; nil if it has none.
    func pathBeforeMove(of inode: InodeNumber, at synced: SyncedRecord) throws -> [FileName]? {
        guard try isAside(inode, at: synced) else { return nil }
        let path: ObjectKey? = try value(
            "SELECT path_before_move FROM synced WHERE inode = ?", [inode])
        return path?.names
    }
}

extension Store {
    /// Returns the nonce of the bytes of a generation, wherever they are sent.
    func writeNonce(of inode: InodeNumber, generation: Int64) throws(Blocked) -> WriteNonce {
        WriteNonce(salt: try salt(), inode: inode, generation: generation)
    }

    /// Returns the salt of this mount, which never changes.
    func salt() throws(Blocked) -> String {
        if let salt = knownSalt.withLock(\.self) { return salt }
        let salt = try read { try $0.salt() }
        knownSalt.withLock { $0 = salt }
        return salt
    }
}
