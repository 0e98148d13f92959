/// Times of last use of files, for eviction. They are stored together, so that closing a file costs
/// no transaction. If the process dies, the order of eviction is a little older.
struct LastUses: Sendable {
    let store: Store
    /// Times that are not stored yet.
    private let pending = Locked<[InodeNumber: Timestamp]>([:])

    init(_ store: Store) {
        self.store = store
    }

    /// The number of uses after which all are stored.
    static var pendingMax: Int { 1_024 }

    /// Records the last use of a file.
    func note(_ inode: InodeNumber, at now: Timestamp) throws(Blocked) {
        let count = pending.withLock { pending in
            pending[inode] = now
            return pending.count
        }
        if count >= Self.pendingMax { try save() }
    }

    /// Stores the recorded uses.
    func save() throws(Blocked) {
        let uses = pending.withLock { pending in
            defer { pending = [:] }
            return pending
        }
        guard !uses.isEmpty else { return }
        try store.write { database in
            for (inode, time) in uses.sorted(by: { $0.key < $1.key }) {
                try database.touch(inode, at: time)
            }
        }
    }
}
