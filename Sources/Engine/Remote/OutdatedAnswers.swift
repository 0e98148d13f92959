/// Tells whether an answer of the remote is outdated by an operation of our own.
struct OutdatedAnswers: Sendable {
    let store: Store
    let activity: RemoteActivity
    let agenda: Agenda
}

extension OutdatedAnswers {
    /// Whether the answer `.missing` or `.changed` to a request for an inode says nothing, as our
    /// own operations have moved or changed it since the request left, or may be about to.
    func isOutdated(
        _ inode: InodeNumber, askedAt key: ObjectKey, etag: ETag?
    ) throws(Halt) -> Bool {
        if activity.isClaimed(key) { return true }
        return try store.read { database in
            try database.remoteKey(of: inode) != key || database.synced(inode)?.etag != etag
                || database.uncertainInode(atOrAbove: inode) != nil
        }
    }

    /// Somebody waits below what may be half-way elsewhere: it finds out now, not when its backoff
    /// is over.
    func settleDoubt(atOrAbove inode: InodeNumber) throws(Halt) {
        for uncertain in try store.read({ try $0.uncertainInodes(atOrAbove: inode) }) {
            agenda.enqueue(uncertain, after: .zero)
        }
    }
}
