import Logging

/// Makes content survive power loss (I1, I5).
///
/// Written or fetched bytes are marked unsafe and synchronised a few seconds later. After a restart
/// of the machine, bytes that are still unsafe are not trusted, see ``Recovery``.
struct Durability: Sendable {
    let store: Store
    let disk: any Disk
    let logger: Logger
    /// Evicted inodes whose eviction may not survive a power cut yet.
    let evictionsUnsynced = Locked<Set<InodeNumber>>([])
    /// Held during a pass: another one would count what this one has yet to synchronise as safe.
    private let pass = Locked(())

    init(store: Store, disk: any Disk, logger: Logger) {
        self.store = store
        self.disk = disk
        self.logger = logger
    }

    /// Synchronises the remaining files at shutdown, after the last write.
    func keepPendingSafe() {
        do throws(Blocked) {
            let inodes = try store.read { try $0.unsafePending(limit: Self.singleFilesMax + 1) }
            if inodes.isEmpty { return }
            if inodes.count > Self.singleFilesMax { return try keepSafe() }
            try synchronizeContent(of: inodes)
            try store.write { for inode in inodes { try $0.markSafe(inode) } }
            try store.synchronize()
        } catch {
            logger.warning("content not synchronized", metadata: ["reason": "\(error)"])
        }
    }

    private static var singleFilesMax: Int { 256 }

    /// Synchronises the content of some files; the whole file system if there are more than
    /// ``singleFilesMax``.
    private func synchronizeContent(of inodes: [InodeNumber]) throws(Blocked) {
        try onDisk("synchronize the content") { () throws(DiskError) in
            if inodes.count > Self.singleFilesMax { return try disk.synchronizeAll() }
            // Few files are synchronised one by one, since synchronising a whole busy file system
            // takes long.
            for inode in inodes { try disk.open(StateFiles.content(of: inode)).synchronize() }
        }
    }

    /// Ensures that no power cut restores evicted bytes. If it did so after new bytes had begun to
    /// arrive, torn bytes would pass for whole ones.
    func keepEvictionsSafe() throws(Blocked) {
        let evicted = evictionsUnsynced.withLock { $0 }
        guard !evicted.isEmpty else { return }
        try store.synchronize()
        evictionsUnsynced.withLock { $0.subtract(evicted) }
    }

    /// Synchronises files that are no longer being written.
    func keepSafe() throws(Blocked) {
        try pass.withLock { _ throws(Blocked) in try synchronizeWritten() }
    }

    private func synchronizeWritten() throws(Blocked) {
        guard try store.read({ try $0.hasUnsafe() }) else { return }
        try store.write { try $0.beginSynchronizing() }
        let inodes = try store.read { try $0.synchronizing(limit: Self.singleFilesMax + 1) }
        try synchronizeContent(of: inodes)
        try store.write { try $0.endSynchronizing() }
    }

    /// Records that bytes are about to change, so that a power cut meanwhile is detected.
    func markUnsafe(_ inode: InodeNumber, _ state: inout OpenFile.State) throws(Blocked) {
        guard !state.isMarkedUnsafe else { return }
        if try store.write({ try $0.markUnsafe(inode) }) { try store.synchronize() }
        state.isMarkedUnsafe = true
    }

    /// Records that a program has synchronised a file.
    func noteSynchronized(_ file: OpenFile) throws(Blocked) {
        try file.withState { state throws(Blocked) in
            let isSafe = !state.isMarkedUnsafe
            try store.write { database in
                guard try database.isPending(file.inode) else { return }
                try database.markFsynced(file.inode, isSafe: isSafe)
            }
        }
    }
}
