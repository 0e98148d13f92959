import Synchronization

/// The files whose content is in use, one ``OpenFile`` each.
///
/// The inodes are spread over many locks. None is held during slow work on unused files, such as the
/// removal of gigabytes: only opens of these files wait for its end.
final class OpenFileTable: Sendable {
    private struct Entry {
        var users: Int
        /// Those of them that only fetch bytes ahead of the others.
        var fetches = 0
        var file: OpenFile
    }

    private struct Entries {
        var used: [InodeNumber: Entry] = [:]
        /// Unused inodes that cannot be retained at the moment.
        var closed: Set<InodeNumber> = []
        /// Unused inodes that can be retained once the work on them has ended.
        var busy: [InodeNumber: Work] = [:]

        func isFree(_ inode: InodeNumber) -> Bool {
            used[inode] == nil && !closed.contains(inode)
        }
    }

    /// Work on unused files; its lock is held until it has ended. It is taken while no shard's is held.
    private typealias Work = Locked<Void>

    /// Those of files that are likely to be opened next.
    let firstBytes = FirstBytes()
    private let shards = (0..<64).map { _ in Locked(Entries()) }

    /// Returns the file of an inode that is already in use.
    func existing(_ inode: InodeNumber) -> OpenFile? {
        shard(inode).withLock { $0.used[inode]?.file }
    }

    /// All files in use, in no particular order.
    var all: [OpenFile] {
        shards.flatMap { shard in shard.withLock { $0.used.values.map(\.file) } }
    }

    /// Adds a user; the first one creates the file with `load`. Waits while
    /// ``withExclusive(_:_:)`` has the inode.
    ///
    /// - Throws: Errors of `load`; `.changedRemotely` while ``withUnused(_:_:)`` has the inode.
    func retain(
        _ inode: InodeNumber, load: () throws(Blocked) -> OpenFile
    ) throws(Blocked) -> OpenFile {
        // `load` runs under the lock: two first users must not create two files for one inode.
        try whenIdle(inode) { entries throws(Blocked) in
            if let entry = entries.used[inode] {
                entries.used[inode]?.users += 1
                entry.file.isWanted.store(true, ordering: .relaxed)
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

    /// Adds a user that fetches bytes ahead of others; ``release(_:isFetch:last:)`` removes it.
    ///
    /// - Returns: nil if there are no others.
    func retainToFetch(_ inode: InodeNumber) -> OpenFile? {
        shard(inode).withLock { entries in
            guard let entry = entries.used[inode], entry.users > entry.fetches else { return nil }
            entries.used[inode]?.users += 1
            entries.used[inode]?.fetches += 1
            return entry.file
        }
    }

    /// Removes a user. For the last one, `last` runs before the inode can be retained again.
    func release(_ inode: InodeNumber, isFetch: Bool = false, last: (OpenFile) -> Void) {
        shard(inode).withLock { entries in
            guard var entry = entries.used[inode] else {
                preconditionFailure("inode \(inode) was released more often than retained")
            }
            if entry.users > 1 {
                entry.users -= 1
                if isFetch { entry.fetches -= 1 }
                if entry.users == entry.fetches {
                    entry.file.isWanted.store(false, ordering: .relaxed)
                }
                entries.used[inode] = entry
            } else {
                last(entry.file)
                entries.used[inode] = nil
            }
        }
    }

    /// Runs `body` with the unused ones among some inodes. Opens of them wait until it has
    /// ended; no other inode is affected.
    func withExclusive<Value: Sendable>(
        _ inodes: [InodeNumber], _ body: ([InodeNumber]) throws(Blocked) -> Value
    ) throws(Blocked) -> Value {
        let work = Work(())
        return try work.withLock { _ throws(Blocked) in
            // In ascending order, so that two callers do not wait for each other.
            let unused = Set(inodes).sorted().filter { inode in
                whenIdle(inode) { entries in
                    if entries.isFree(inode) { entries.busy[inode] = work }
                    return entries.isFree(inode)
                }
            }
            defer {
                for inode in unused { shard(inode).withLock { $0.busy[inode] = nil } }
            }
            return try body(unused)
        }
    }

    /// Runs `body` if the content of an inode is unused. Opens of it wait until it has ended.
    ///
    /// - Returns: nil, without running `body`, if the content is in use.
    func withExclusive<Value: Sendable>(
        _ inode: InodeNumber, _ body: () throws(Blocked) -> Value
    ) throws(Blocked) -> Value? {
        try withExclusive([inode]) { unused throws(Blocked) in
            unused.isEmpty ? nil : try body()
        }
    }

    /// Marks an unlinked inode if it is in use, see ``OpenFile/isUnlinked``.
    ///
    /// - Returns: Whether it is.
    func noteUnlinked(_ inode: InodeNumber) -> Bool {
        whenIdle(inode) { entries in
            entries.used[inode]?.file.isUnlinked.store(true, ordering: .relaxed)
            return entries.used[inode] != nil
        }
    }

    /// Runs `body` with the unused ones among some unlinked inodes, which cannot be retained meanwhile.
    /// The others are marked, see ``OpenFile/isUnlinked``.
    func withUnused(
        _ inodes: [InodeNumber], _ body: ([InodeNumber]) throws(Blocked) -> Void
    ) throws(Blocked) {
        let unused = inodes.filter { inode in
            whenIdle(inode) { entries in
                entries.used[inode]?.file.isUnlinked.store(true, ordering: .relaxed)
                return entries.isFree(inode) && entries.closed.insert(inode).inserted
            }
        }
        defer {
            for inode in unused {
                shard(inode).withLock { _ = $0.closed.remove(inode) }
            }
        }
        try body(unused)
    }

    /// Runs `body` under the lock of an inode on which no exclusive work is being done.
    private func whenIdle<Value: Sendable, Failure: Error>(
        _ inode: InodeNumber, _ body: (inout Entries) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        while true {
            let (value, work) = try shard(inode).withLock { entries throws(Failure) in
                if let work = entries.busy[inode] { return (Value?.none, Work?.some(work)) }
                return (try body(&entries), nil)
            }
            if let value { return value }
            work?.withLock { _ in }
        }
    }

    private func shard(_ inode: InodeNumber) -> Locked<Entries> {
        shards[index(of: inode)]
    }

    private func index(of inode: InodeNumber) -> Int {
        Int(truncatingIfNeeded: inode.rawValue) & (shards.count - 1)
    }
}
