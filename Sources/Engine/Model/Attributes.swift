/// The attributes of an inode. POSIX: `struct stat`.
package struct Attributes: Hashable, Sendable {
    package var inode: InodeNumber
    package var kind: FileKind
    /// The permission bits, 0 to 0o7777.
    package var mode: UInt16
    package var userID: UInt32
    package var groupID: UInt32
    /// The number of names; 0 if the inode is unlinked and only open handles keep it.
    package var links: UInt32
    /// Length in bytes; of a symbolic link, that of its target.
    package var size: UInt64
    package var modified: Timestamp
    /// Time of the last local change of attributes or content. POSIX: `st_ctim`.
    package var changed: Timestamp
    /// Whether the attributes come from a listing that lacks some of them. The full ones are being
    /// fetched, so the kernel must not cache these.
    package var isProvisional = false
    /// Whether even the kind may change: an object listed as a file may be a symbolic link.
    package var isKindProvisional = false
    /// Whether it is a directory that is listed again only at its next use. The kernel must not cache
    /// its attributes: it has to ask for them then.
    package var isIdle = false
}

/// The attributes to set; nil for unchanged ones. POSIX: `chmod`, `chown`, `utimensat`.
package struct AttributeChange: Hashable, Sendable {
    package var mode: UInt16?
    package var userID: UInt32?
    package var groupID: UInt32?
    package var size: UInt64?
    package var modified: ModifiedChange?
    /// Whether to clear the set-user-ID bit, and the set-group-ID bit if the group may execute the
    /// file. POSIX: `chown`, and `truncate` by ordinary users.
    package var clearsSetID = false

    package enum ModifiedChange: Hashable, Sendable {
        case now
        case at(Timestamp)
    }

    package init() {}
}

extension UInt16 {
    /// Permission bits without the set-user-ID bit and, if the group may execute the file, without the
    /// set-group-ID bit: alone, it once meant mandatory locking.
    var withoutSetID: UInt16 { self & ~(self & 0o0010 == 0 ? 0o4000 : 0o6000) }
}

/// The user and group of a request, which own the objects that it creates.
package struct Caller: Hashable, Sendable {
    package var userID: UInt32
    package var groupID: UInt32

    package init(userID: UInt32, groupID: UInt32) {
        self.userID = userID
        self.groupID = groupID
    }
}

/// One entry of a directory listing.
package struct DirectoryEntry: Sendable {
    package var name: FileName
    package var attributes: Attributes
    /// Position after this name, from which a listing continues; positive, ascending and never
    /// reused in a directory, so that it stays valid while names are added and removed.
    package var cookie: Int64
}
