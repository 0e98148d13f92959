import GRDB

// Rows of `xattrs`: the local extended attributes of inodes. They are read only when asked for.

extension Database {
    func extendedAttributes(of inode: InodeNumber) throws -> ExtendedAttributes {
        try value("SELECT attributes FROM xattrs WHERE inode = ?", [inode]) ?? ExtendedAttributes()
    }

    func setExtendedAttributes(
        _ attributes: ExtendedAttributes, of inode: InodeNumber
    ) throws {
        if attributes.isEmpty {
            try run("DELETE FROM xattrs WHERE inode = ?", [inode])
        } else {
            try run("INSERT OR REPLACE INTO xattrs VALUES (?, ?)", [inode, attributes])
        }
    }

    /// Merges remote attributes into the local ones: local changes since `base` are kept.
    ///
    /// - Parameter remote: nil if the remote does not report them.
    /// - Returns: The attributes that both sides agree on from now on.
    func adopt(
        _ remote: ExtendedAttributes?, of inode: InodeNumber, since base: ExtendedAttributes
    ) throws -> ExtendedAttributes {
        guard let remote, remote != base else { return base }
        let ours = try extendedAttributes(of: inode)
        try setExtendedAttributes(ours.rebased(from: base, onto: remote), of: inode)
        return remote
    }
}
