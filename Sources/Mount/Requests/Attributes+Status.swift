import CFuse
import Engine
import Glibc

extension FileKind {
    /// The file type bits of a mode. POSIX: `S_IFMT`.
    var typeBits: mode_t {
        switch self {
        case .file: S_IFREG
        case .directory: S_IFDIR
        case .symlink: S_IFLNK
        }
    }
}

extension Timestamp {
    init(_ time: timespec) {
        self.init(seconds: Int64(time.tv_sec), nanoseconds: Int64(time.tv_nsec))
    }

    var timespec: timespec {
        Glibc.timespec(tv_sec: Int(seconds), tv_nsec: Int(nanosecondsOfSecond))
    }
}

extension Attributes {
    /// The attributes in the form of `stat`.
    ///
    /// The number of blocks follows from the size even if the content is not local: programs treat
    /// a file with fewer blocks as sparse, and some read its holes as zeros without asking.
    func status(_ ownership: ShownOwnership) -> stat {
        var status = stat()
        status.st_ino = ino_t(inode.rawValue)
        status.st_mode = kind.typeBits | mode_t(mode)
        status.st_nlink = nlink_t(links)
        status.st_uid = userID
        status.st_gid = groupID
        status.st_size = off_t(clamping: size)
        status.st_blocks = blkcnt_t(clamping: size / 512 + (size % 512 == 0 ? 0 : 1))
        status.st_blksize = 4096
        status.st_mtim = modified.timespec
        status.st_ctim = changed.timespec
        // Access times are not stored.
        status.st_atim = modified.timespec
        ownership.apply(to: &status)
        return status
    }

    /// The answer to a lookup of a name that points at this inode.
    func entry(_ form: AttributeForm) -> fuse_entry_param {
        var entry = fuse_entry_param()
        entry.ino = fuse_ino_t(inode.rawValue)
        // Inode numbers are never reused, so they need no generations.
        entry.generation = 0
        entry.attr = status(form.ownership)
        entry.attr_timeout = form.timeouts.seconds(for: self)
        // A file that turns out to be a symbolic link gets another inode.
        entry.entry_timeout = isKindProvisional ? 0 : form.timeouts.entries.seconds
        return entry
    }
}

extension AttributeChange {
    /// The change that SETATTR asks for, without access times, which are not stored.
    init(_ status: stat, settable: CInt) {
        self.init()
        if settable & FUSE_SET_ATTR_MODE != 0 { mode = UInt16(status.st_mode & 0o7777) }
        if settable & FUSE_SET_ATTR_UID != 0 { userID = status.st_uid }
        if settable & FUSE_SET_ATTR_GID != 0 { groupID = status.st_gid }
        if settable & FUSE_SET_ATTR_SIZE != 0 { size = UInt64(clamping: status.st_size) }
        if settable & FUSE_SET_ATTR_MTIME_NOW != 0 {
            modified = .now
        } else if settable & FUSE_SET_ATTR_MTIME != 0 {
            modified = .at(Timestamp(status.st_mtim))
        }
        clearsSetID = settable & apus_setattr_clears_set_id != 0
    }

    /// Whether it changes no stored attribute.
    var isEmpty: Bool { self == AttributeChange() }
}
