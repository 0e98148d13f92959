/// The files whose content is in use, one ``OpenFile`` each.
///
/// The inodes are spread over many locks, so that slow work on one file (removing gigabytes) blocks
/// few others.
final class OpenFileTable: Sendable {
    private struct Entry {
        var users: Int
        var file: OpenFile
    }

    private struct Entries {
        var used: [InodeNumber: Entry] = [:]
        /// Unused inodes that cannot be retained at the moment.
        var closed: Set<InodeNumber> = []

        func isFree(_ inode: InodeNumber) -> Bool {
            used[inode] == nil && !closed.contains(inode)
        }
    }

    private let shards = (0..<64).map { _ in Locked(Entries()) }

    /// Returns the file of an inode that is already in use.
    func existing(_ inode: InodeNumber) -> OpenFile? {
        shard(inode).withLock { $0.used[inode]?.file }
    }

    /// All files in use, in no particular order.
    var all: [OpenFile] {
        shards.flatMap { shard in shard.withLock { $0.used.values.map(\.file) } }
    }

    /// Adds a user; the first one creates the file with `load`.
    ///
    /// - Throws: Errors of `load`; `.changedRemotely` while ``withUnused(_:_:)`` has the inode.
    func retain(
        _ inode: InodeNumber, load: () throws(Blocked) -> OpenFile
    ) throws(Blocked) -> OpenFile {
        // `load` runs under the lock: two first users must not create two files for one inode.
        try shard(inode).withLock { entries throws(Blocked) in
            if let entry = entries.used[inode] {
                entries.used[inode]?.users += 1
                return entry.file
            }
            guard entries.isFree(inode) else {
                throw .failure(.changedRemotely, "use the removed inode \(inode)")
            }
            let file = try load()
            entries.used[inode] = Entry(users: 1, file: file)
            return file
        }
    }

    /// Removes a user. For the last one, `last` runs before the inode can be retained again.
    func release(_ inode: InodeNumber, last: (OpenFile) -> Void) {
        shard(inode).withLock { entries in
            guard let entry = entries.used[inode] else {
                preconditionFailure("inode \(inode) was released more often than retained")
            }
            if entry.users > 1 {
                entries.used[inode]?.users -= 1
            } else {
                last(entry.file)
                entries.used[inode] = nil
            }
        }
    }

    /// Runs `body` if the inode's content is unused; it cannot be retained meanwhile.
    ///
    /// - Returns: nil, without running `body`, if the content is in use.
    func withExclusive<Value: Sendable>(
        _ inode: InodeNumber, _ body: () throws(Blocked) -> Value
    ) throws(Blocked) -> Value? {
        try shard(inode).withLock { entries throws(Blocked) in
            entries.isFree(inode) ? try body() : nil
        }
    }

    /// Runs `body` with the unused ones among some inodes. They cannot be retained meanwhile; no
    /// lock is held.
    func withUnused(
        _ inodes: [InodeNumber], _ body: ([InodeNumber]) throws(Blocked) -> Void
    ) throws(Blocked) {
        let unused = inodes.filter { inode in
            shard(inode).withLock { entries in
                entries.isFree(inode) && entries.closed.insert(inode).inserted
            }
        }
        defer {
            for inode in unused {
                shard(inode).withLock { _ = $0.closed.remove(inode) }
            }
        }
        try body(unused)
    }

    private func shard(_ inode: InodeNumber) -> Locked<Entries> {
        shards[Int(truncatingIfNeeded: inode.rawValue) & (shards.count - 1)]
    }
}
