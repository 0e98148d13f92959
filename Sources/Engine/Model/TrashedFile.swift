/// A file that was deleted on the remote, and whose bytes are kept in the trash.
package struct TrashedFile: Hashable, Sendable {
    /// The path that it had, from the mount point on, without a leading slash.
    package var path: String
    package var size: UInt64
    package var modified: Timestamp
    /// The time at which the deletion was seen.
    package var deleted: Timestamp
    /// The time at which it is removed from the trash, or earlier if the trash grows too large.
    package var end: Timestamp
}
