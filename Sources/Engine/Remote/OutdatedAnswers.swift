/// Recognises answers of the remote that our own operations have outdated.
struct OutdatedAnswers: Sendable {
    let store: Store
    let activity: RemoteActivity
    let agenda: Agenda

    /// Whether the answer `.missing` or `.changed` to a request for an inode proves nothing,
    /// because our own operations have moved or changed it since the request was sent, or may be
    /// about to. If so, it settles the doubt.
    func isOutdated(
        _ inode: InodeNumber, askedAt key: ObjectKey, etag: ETag?
    ) throws(Blocked) -> Bool {
        var isOutdated = activity.isClaimed(key)
        if !isOutdated {
            isOutdated = try store.read { database in
                try database.remoteKey(of: inode) != key || database.synced(inode)?.etag != etag
                    || database.uncertainInode(atOrAbove: inode) != nil
            }
        }
        if isOutdated { try settleDoubt(atOrAbove: inode) }
        return isOutdated
    }

    /// Schedules the uncertain inodes at or above an inode now rather than after their backoff,
    /// because a request below them is waiting.
    func settleDoubt(atOrAbove inode: InodeNumber) throws(Blocked) {
        let uncertain = try store.read { try $0.uncertainInodes(atOrAbove: inode) }
        guard !uncertain.isEmpty else { return }
        try store.write { try $0.enqueue(uncertain, due: agenda.due()) }
        agenda.notify()
    }
}
