/// What `stat` shows of an inode. POSIX: `struct stat`.
package struct Attributes: Hashable, Sendable {
    package var inode: InodeNumber
    package var kind: FileKind
    /// The permission bits, 0 to 0o7777.
    package var mode: UInt16
    package var userID: UInt32
    package var groupID: UInt32
    /// Names that point at it; 0 once it is unlinked and only open handles keep it.
    package var links: UInt32
    /// Length in bytes; for a symbolic link that of its target.
    package var size: UInt64
    package var modified: Timestamp
    /// When attributes or content last changed here. POSIX: `st_ctim`.
    package var changed: Timestamp
    /// Whether the remote may know better: a listing has told them, and not all of them. They are
    /// asked for, and whoever remembers these would miss what comes.
    package var isProvisional = false
    /// Whether it may even be of another kind: what a listing calls a file may be a symbolic link.
    package var isKindProvisional = false
}

/// The attributes to set, nil for those that stay. POSIX: `chmod`, `chown`, `utimensat`.
package struct AttributeChange: Hashable, Sendable {
    package var mode: UInt16?
    package var userID: UInt32?
    package var groupID: UInt32?
    package var size: UInt64?
    package var modified: ModifiedChange?

    package enum ModifiedChange: Hashable, Sendable {
        case now
        case at(Timestamp)
    }

    package init() {}
}

/// Who asks, for what it makes.
package struct Caller: Hashable, Sendable {
    package var userID: UInt32
    package var groupID: UInt32

    package init(userID: UInt32, groupID: UInt32) {
        self.userID = userID
        self.groupID = groupID
    }
}

/// One name of a directory, in a listing.
package struct DirectoryEntry: Sendable {
    package var name: FileName
    package var attributes: Attributes
    /// Where the listing goes on after this name; positive, ascending, never used twice in a
    /// directory, so that it stays valid while names come and go.
    package var cookie: Int64
}
