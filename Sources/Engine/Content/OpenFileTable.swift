import Synchronization

/// The files whose content is in use, one ``OpenFile`` each.
///
/// Its locks are taken before a file's own, and that before the database's. The inodes are spread
/// over many locks, so that slow work on one file (removing gigabytes) blocks few others.
final class OpenFileTable: Sendable {
    private struct Entry {
        var users: Int
        var file: OpenFile
    }

    private struct Entries {
        var used: [InodeNumber: Entry] = [:]
        /// Unused inodes that cannot be retained at the moment.
        var closed: Set<InodeNumber> = []

        subscript(inode: InodeNumber) -> Entry? {
            get { used[inode] }
            set { used[inode] = newValue }
        }

        func isFree(_ inode: InodeNumber) -> Bool {
            used[inode] == nil && !closed.contains(inode)
        }
    }

    private final class Shard: Sendable {
        let entries = Mutex(Entries())
    }

    private let shards = (0..<64).map { _ in Shard() }

    /// Returns the file of an inode that is already in use.
    func existing(_ inode: InodeNumber) -> OpenFile? {
        shard(inode).entries.withLock { $0[inode]?.file }
    }

    /// All files in use, in no particular order.
    var all: [OpenFile] {
        shards.flatMap { shard in shard.entries.withLock { $0.used.values.map(\.file) } }
    }

    /// Adds a user; the first one creates the file with `load`.
    ///
    /// - Throws: Errors of `load`; `.changedRemotely` while ``withUnused(_:_:)`` has the inode.
    func retain(
        _ inode: InodeNumber, load: () throws(Blocked) -> OpenFile
    ) throws(Blocked) -> OpenFile {
        // `load` runs under the lock: two first users must not create two files for one inode.
        let result: Result<OpenFile, Blocked> = shard(inode).entries.withLock { entries in
            if let entry = entries[inode] {
                entries[inode]?.users += 1
                return .success(entry.file)
            }
            guard entries.isFree(inode) else {
                return .failure(.failure(.changedRemotely, "use the removed inode \(inode)"))
            }
            do throws(Blocked) {
                let file = try load()
                entries[inode] = Entry(users: 1, file: file)
                return .success(file)
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    /// Removes a user. For the last one, `last` runs before the inode can be retained again.
    func release(_ inode: InodeNumber, last: (OpenFile) -> Void) {
        shard(inode).entries.withLock { entries in
            guard let entry = entries[inode] else {
                preconditionFailure("inode \(inode) was released more often than retained")
            }
            if entry.users > 1 {
                entries[inode]?.users -= 1
            } else {
                last(entry.file)
                entries[inode] = nil
            }
        }
    }

    /// Runs `body` if the inode's content is unused; it cannot be retained meanwhile.
    ///
    /// - Returns: nil, without running `body`, if the content is in use.
    func withExclusive<Value>(
        _ inode: InodeNumber, _ body: () throws(Blocked) -> Value
    ) throws(Blocked) -> Value? {
        let result: Result<Value, Blocked>? = shard(inode).entries.withLock { entries in
            guard entries.isFree(inode) else { return nil }
            do throws(Blocked) {
                return .success(try body())
            } catch {
                return .failure(error)
            }
        }
        return try result?.get()
    }

    /// Runs `body` with the unused ones among some inodes. They cannot be retained meanwhile; no
    /// lock is held.
    func withUnused(
        _ inodes: [InodeNumber], _ body: ([InodeNumber]) throws(Blocked) -> Void
    ) throws(Blocked) {
        let unused = inodes.filter { inode in
            shard(inode).entries.withLock { entries in
                entries.isFree(inode) && entries.closed.insert(inode).inserted
            }
        }
        defer {
            for inode in unused {
                shard(inode).entries.withLock { _ = $0.closed.remove(inode) }
            }
        }
        try body(unused)
    }

    private func shard(_ inode: InodeNumber) -> Shard {
        shards[Int(truncatingIfNeeded: inode.rawValue) & (shards.count - 1)]
    }
}
