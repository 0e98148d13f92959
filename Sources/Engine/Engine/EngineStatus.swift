/// What is here, what is on the remote, and what lies between, at one moment.
package struct EngineStatus: Sendable {
    /// Names that the engine knows.
    package var itemCount: UInt64 = 0
    /// Bytes of files of which something is here.
    package var localBytes: UInt64 = 0
    package var pending = PendingSummary()
    /// Pending items, those that failed for good first, then those that failed, then the oldest, as
    /// many as were asked for.
    package var items: [PendingItem] = []
    /// Versions that lost their name to the remote's and are kept beside it, until somebody renames
    /// or removes them; as many as were asked for.
    package var conflicts: [PendingItem] = []
    /// The number of all conflicts.
    package var conflictCount: UInt64 = 0
    /// Files whose bytes are being fetched and that are not among ``items``, in the order of their
    /// inodes; as many as were asked for.
    package var downloads: [PendingItem] = []
    /// How many files are being fetched.
    package var downloading: UInt64 = 0
    package var reachability = Reachability()
}
/// An item whose changes are not on the remote yet, or whose bytes are not all here.
package struct PendingItem: Sendable {
    package var inode: InodeNumber
    /// From the mount point on, without a leading slash.
    package var path: String
    package var state: ItemState
    /// Whether it was deleted locally, and is still on the remote.
    package var isDeletion = false
    /// What is happening on the remote right now.
    package var transfer: Transfer?
    package var size: UInt64
    /// How many of its bytes are here, while others are being fetched.
    package var bytesHere: UInt64?
    package var attempts: Int
    package var failure: SyncFailure?
    /// When it is tried again, where that failed and is known.
    package var retry: Timestamp?
    package var since: Timestamp
    /// Of a conflict, the path of the remote's version.
    package var counterpart: String?
    /// Where it points, of a symbolic link.
    package var link: SymbolicLink?
}
