import Logging

/// Content files of evictions that have returned: the database does not need them any more, and the
/// disk may take many seconds to remove so many.
///
/// They are removed in the background; at once if their space is needed. Until then they count as
/// local. If the process dies before, the next one removes them, see ``Leftovers``.
final class EvictedContent: Sendable {
    private struct File {
        var inode: InodeNumber
        /// The space that it takes.
        var bytes: UInt64
    }

    private let store: Store
    private let disk: any Disk
    private let clock: any Clock
    private let logger: Logger
    private let files: OpenFileTable
    private let cache: CacheUse
    private let kernelCache: KernelCacheRelay
    /// The next one last.
    private let waiting = Locked<[File]>([])
    private let signal = Signal()

    init(
        store: Store, disk: any Disk, clock: any Clock, logger: Logger, files: OpenFileTable,
        cache: CacheUse, kernelCache: KernelCacheRelay
    ) {
        self.store = store
        self.disk = disk
        self.clock = clock
        self.logger = logger
        self.files = files
        self.cache = cache
        self.kernelCache = kernelCache
    }

    /// The maximum number of files that wait. Evictions of more remove the bytes themselves.
    static var filesMax: Int { 131_072 }

    /// The files removed together, which opens of them wait for: up to so many, and up to so many bytes
    /// or one larger file.
    private static var batchFiles: Int { 64 }
    private static var batchBytes: UInt64 { 64 << 20 }

    func hasPlace(for count: Int) -> Bool {
        waiting.withLock { $0.count + count <= Self.filesMax }
    }

    /// Adds files whose bytes the database has just forgotten. They are not in use.
    func add(_ evicted: [(inode: InodeNumber, bytes: UInt64)]) {
        if evicted.isEmpty { return }
        cache.noteLeaving(evicted.reduce(0) { $0 + $1.bytes })
        waiting.withLock { waiting in
            waiting += evicted.map { File(inode: $0.inode, bytes: $0.bytes) }
        }
        signal.notify()
    }

    /// Removes them, until it is cancelled.
    func run() async {
        while !Task.isCancelled {
            let notifications = signal.notifications
            while !Task.isCancelled, removeNext() != nil { await Task.yield() }
            await signal.wait(after: notifications)
        }
    }

    /// Removes some now, as space is short. No lock may be held, except the one on evictions.
    ///
    /// - Returns: The number of freed bytes.
    func clear(atLeast wanted: UInt64) -> UInt64 {
        var freed: UInt64 = 0
        while freed < wanted, let bytes = removeNext() { freed += bytes }
        return freed
    }

    /// Removes what is left at the end of a mount. The next start removes the rest.
    func finish(until deadline: Duration) {
        while clock.uptime < deadline, removeNext() != nil {}
    }

    /// - Returns: The space that the removed files took; nil if no file waited.
    private func removeNext() -> UInt64? {
        let batch = waiting.withLock { waiting in
            var (batch, bytes): ([File], UInt64) = ([], 0)
            while batch.count < Self.batchFiles, let next = waiting.last,
                batch.isEmpty || bytes + next.bytes <= Self.batchBytes
            {
                batch.append(next)
                bytes += next.bytes
                waiting.removeLast()
            }
            return batch
        }
        if batch.isEmpty { return nil }
        defer { cache.noteLeft(batch.reduce(0) { $0 + $1.bytes }) }
        do throws(Blocked) {
            let removed = try files.withExclusive(batch.map(\.inode)) { unused throws(Blocked) in
                // One that was opened since was emptied then, and may have new bytes.
                try store.read { database in
                    try unused.filter { try database.use(ofContentOf: $0) == .none }
                }.filter(remove)
            }
            // The kernel's cached bytes are dropped too, to free the memory as well.
            kernelCache.announce(removed.map { .inode($0) })
            let gone = Set(removed)
            return batch.reduce(0) { gone.contains($1.inode) ? $0 + $1.bytes : $0 }
        } catch {
            logger.warning("evicted bytes not removed", metadata: ["reason": "\(error)"])
            return 0
        }
    }

    private func remove(_ inode: InodeNumber) -> Bool {
        do throws(DiskError) {
            try disk.remove(StateFiles.content(of: inode))
            return true
        } catch {
            // The next use empties it, and the next start removes it.
            logger.warning(
                "evicted bytes not removed",
                metadata: ["inode": "\(inode)", "reason": "\(error.attempt): \(error.reason)"])
            return false
        }
    }
}
