import Foundation
import GRDB

/// One row of `inodes`: the local state of an inode.
struct InodeRecord {
    var id: InodeNumber
    var kind: FileKind
    var mode: UInt16
    var userID: UInt32
    var groupID: UInt32
    var links: UInt32
    var size: UInt64
    var modified: Timestamp
    var changed: Timestamp
    var target: [UInt8]?
    var presence = Presence.remote
    /// Counts the local versions of the content, or for a directory the explicit changes of its
    /// time; see ``SyncedRecord/generation``.
    var generation: Int64 = 0
    /// Set while the file may be open for writing: after a crash the content file is authoritative
    /// (I1).
    var isWriting = false
    /// Whether all names of the directory are known.
    var isListed = false
    /// The last use of the content, to the minute.
    var accessed: Timestamp
    /// Whether all metadata that the remote has is known locally.
    var hasMetadata = true
    /// Whether a local program made it: a symbolic link with this target, or a directory.
    var isMadeHere = false

    static let columns = """
        inodes.id, inodes.kind, inodes.mode, uid, gid, links, inodes.size, inodes.modified, changed,
        inodes.target, presence, inodes.generation, writing, listed, accessed, inodes.has_metadata,
        made_here
        """
}

extension InodeRecord {
    /// - Parameter first: The index of the first of ``columns`` in the row.
    init(_ row: StatementRow, from first: Int = 0) {
        id = row[first]
        kind = row[first + 1]
        mode = row[first + 2]
        userID = row[first + 3]
        groupID = row[first + 4]
        links = row[first + 5]
        size = UInt64(stored: row[first + 6])
        modified = row[first + 7]
        changed = row[first + 8]
        target = (row[first + 9] as Data?).map(Array.init)
        presence = row[first + 10]
        generation = row[first + 11]
        isWriting = row[first + 12]
        isListed = row[first + 13]
        accessed = row[first + 14]
        hasMetadata = row[first + 15]
        isMadeHere = row[first + 16]
    }

    /// An inode that is not stored yet.
    init(
        kind: FileKind, mode: UInt16, owner: Caller, size: UInt64, modified: Timestamp,
        changed: Timestamp, target: [UInt8]? = nil
    ) {
        self.init(
            id: InodeNumber(rawValue: 0), kind: kind, mode: mode, userID: owner.userID,
            groupID: owner.groupID, links: kind == .directory ? 2 : 1, size: size,
            modified: modified, changed: changed, target: target, accessed: changed)
    }

    var attributes: Attributes {
        Attributes(
            inode: id, kind: kind, mode: mode, userID: userID, groupID: groupID, links: links,
            size: size, modified: modified, changed: changed, isProvisional: !hasMetadata)
    }
}
