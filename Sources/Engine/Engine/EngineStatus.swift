/// The local and the remote state of a mount, and the changes in between, at one moment.
package struct EngineStatus: Sendable {
    /// The number of names that the engine knows.
    package var itemCount: UInt64 = 0
    /// The local bytes of all files.
    package var localBytes: UInt64 = 0
    /// Their limit at present: the configured one, or less on a disk that is nearly full.
    package var cacheBytesMax: UInt64 = 0
    package var pending = PendingSummary()
    /// Pending items: first permanent failures, then other failures, then the oldest; as many as
    /// requested.
    package var items: [PendingItem] = []
    /// Versions that lost their name to the remote's and are kept beside it until they are renamed
    /// or removed; as many as requested.
    package var conflicts: [PendingItem] = []
    /// The number of all conflicts.
    package var conflictCount: UInt64 = 0
    /// Files that are being fetched and are not among ``items``, by inode; as many as requested.
    package var downloads: [PendingItem] = []
    /// The number of files being fetched.
    package var downloading: UInt64 = 0
    /// The number of files whose bytes neither the local disk, which failed, nor the remote has.
    package var unstoredCount: UInt64 = 0
    package var reachability = Reachability()

    /// Leaves out the directories above the path that the status of an earlier path has counted, see
    /// ``PendingSummary/above``.
    ///
    /// - Parameter counted: These directories; those of this status are added.
    package mutating func leaveOut(_ counted: inout Set<InodeNumber>) {
        let repeated = counted.intersection(pending.above)
        counted.formUnion(pending.above)
        guard !repeated.isEmpty else { return }
        let left = items.filter { repeated.contains($0.inode) }
        let failed = UInt64(left.count { $0.failure?.isFinal == true })
        items.removeAll { repeated.contains($0.inode) }
        pending.above.removeAll(where: repeated.contains)
        pending.count -= min(pending.count, UInt64(repeated.count))
        pending.failed -= min(pending.failed, failed)
        pending.failedFinally -= min(pending.failedFinally, failed)
        pending.transferring -= min(
            pending.transferring, UInt64(left.count { $0.transfer != nil }))
    }
}
/// An item with changes that are not uploaded yet, or with missing bytes.
package struct PendingItem: Sendable {
    package var inode: InodeNumber
    /// The path from the mount point on, without a leading slash.
    package var path: String
    package var state: ItemState
    /// Whether it was deleted locally and is still on the remote.
    package var isDeletion = false
    /// Its current transfer.
    package var transfer: Transfer?
    /// How long nothing of this transfer was sent or answered.
    package var silence: Duration?
    package var size: UInt64
    /// The number of its local bytes, while others are being fetched.
    package var bytesHere: UInt64?
    package var attempts: Int
    package var failure: SyncFailure?
    /// The time of the next attempt after a failure, if known.
    package var retry: Timestamp?
    package var since: Timestamp
    /// For a conflict, the path of the remote's version.
    package var counterpart: String?
    /// Whether it is open for writing, and too large to be uploaded while it is written: it waits
    /// for a pause, or for its close.
    package var awaitsPause = false
    /// Whether it is open for writing, and all of it so far is on the remote.
    package var isOpenAndSent = false
    /// The target, for a symbolic link.
    package var link: SymbolicLink?
}
