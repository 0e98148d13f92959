// The times of last use of files, for eviction. They are stored together, so that closing a file
// costs no transaction. If the process dies, the order of eviction is a little older.

extension Space {
    /// The number of uses after which all are stored.
    static var usesMax: Int { 1_024 }

    /// Records the last use of a file.
    func noteUse(of inode: InodeNumber, at now: Timestamp) throws(Blocked) {
        let count = uses.withLock { uses in
            uses[inode] = now
            return uses.count
        }
        if count >= Self.usesMax { try storeUses() }
    }

    /// Stores the recorded uses.
    func storeUses() throws(Blocked) {
        let uses = self.uses.withLock { uses in
            defer { uses = [:] }
            return uses
        }
        guard !uses.isEmpty else { return }
        try store.write { database in
            for (inode, time) in uses.sorted(by: { $0.key < $1.key }) {
                try database.touch(inode, at: time)
            }
        }
    }
}
