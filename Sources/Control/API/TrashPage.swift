package import FoundationEssentials

/// Some of the files in the trash of a mount.
package struct TrashPage: Codable, Hashable, Sendable {
    /// In the order of their deletion.
    package var items: [TrashItem]
    /// The position from which the next page continues; nil after the last.
    package var next: Int64?

    package init(items: [TrashItem], next: Int64?) {
        self.items = items
        self.next = next
    }
}

/// A file that was deleted on the remote, and whose bytes are kept on this machine.
package struct TrashItem: Codable, Hashable, Sendable {
    /// The path that it had, relative to the mount point.
    package var path: String
    package var bytes: UInt64
    package var modified: Date
    /// The time at which the deletion was seen.
    package var deleted: Date
    /// The time at which it is removed from the trash; earlier if the trash grows too large.
    package var expires: Date

    package init(path: String, bytes: UInt64, modified: Date, deleted: Date, expires: Date) {
        self.path = path
        self.bytes = bytes
        self.modified = modified
        self.deleted = deleted
        self.expires = expires
    }
}
