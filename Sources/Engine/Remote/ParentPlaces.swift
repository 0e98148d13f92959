import GRDB

/// The places of directories on the remote, each looked up once in a transaction that changes none.
struct ParentPlaces {
    let database: Database
    private var keys: [InodeNumber: ObjectKey?] = [:]
    private var areUncertain: [InodeNumber: Bool] = [:]

    init(_ database: Database) {
        self.database = database
    }

    /// Returns the key of an inode with a known agreed state; nil if a directory above it is not on
    /// the remote.
    mutating func key(of inode: InodeNumber, _ synced: SyncedRecord) throws -> ObjectKey? {
        if inode == .root { return .root }
        if let known = keys[synced.parent] { return known?.appending(synced.name) }
        let parent = try database.remoteKey(of: synced.parent)
        keys[synced.parent] = .some(parent)
        return parent?.appending(synced.name)
    }

    /// Whether the position of a directory on the remote is uncertain.
    mutating func isUncertain(_ directory: InodeNumber) throws -> Bool {
        if let known = areUncertain[directory] { return known }
        let isUncertain = try database.uncertainInode(atOrAbove: directory) != nil
        areUncertain[directory] = isUncertain
        return isUncertain
    }
}
