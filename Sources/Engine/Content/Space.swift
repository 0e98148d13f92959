import Logging

/// Keeps the state directory within its bounds: reserves space for new bytes, and evicts clean
/// files.
struct Space: Sendable {
    let store: Store
    let disk: any Disk
    let clock: any Clock
    let logger: Logger
    let files: OpenFileTable
    let durability: Durability
    let kernelCache: KernelCacheRelay
    let cache: CacheUse
    let unneeded: UnneededContent
    let budget = Locked(SpaceBudget())
    let uses: LastUses
    /// See ``EngineConfiguration/evictedAtOnceMax``.
    let evictedAtOnceMax: Int

    /// Records that the disk has refused bytes that should have fitted.
    func noteRefusal() {
        budget.withLock { $0.refuse() }
    }

    /// The minimum to free by one eviction, so that not every write starts another.
    private static var evictionBytes: UInt64 { 16 << 20 }

    /// Reserves space for `bytes`, evicting clean files if necessary. No lock may be held.
    ///
    /// - Throws: `.outOfSpace`.
    func reserve(for bytes: UInt64, _ attempt: @autoclosure () -> String) throws(Blocked) {
        let now = clock.uptime
        if try takeRoom(bytes, at: now) { return }
        if try unneeded.flusher.removeUnlinked() {
            budget.withLock { $0.forget() }
            if try takeRoom(bytes, at: now) { return }
        }
        if unneeded.leftovers.clear() {
            budget.withLock { $0.forget() }
            if try takeRoom(bytes, at: now) { return }
        }
        guard !budget.withLock({ $0.isHopeless(at: now) }) else {
            budget.withLock { $0.forget() }
            throw Self.noRoom(attempt())
        }
        let wanted = max(bytes, Self.evictionBytes)
        let freed = try freeDisk(atLeast: wanted)
        let isRefused = budget.withLock { room in
            defer { room.forget() }
            return room.isRefused
        }
        if freed > 0 {
            logger.info("evicted to free space", metadata: ["bytes": "\(freed)"])
        }
        if freed > 0 || !isRefused, try takeRoom(bytes, at: now) { return }
        budget.withLock { $0.giveUp(at: clock.uptime) }
        throw Self.noRoom(attempt())
    }

    /// - Throws: `.outOfSpace` while the database's own reserve is missing, and nothing can be
    ///   evicted for it.
    func requireBallast(_ attempt: @autoclosure () -> String) throws(Blocked) {
        if !isBallastWhole(at: clock.uptime) { try reserve(for: 0, attempt()) }
    }

    /// Whether the database has its reserve. A missing one is restored only now and then: an
    /// attempt at each refused write would cost more than the write.
    private func isBallastWhole(at now: Duration) -> Bool {
        let isHopeless = budget.withLock { $0.isHopeless(at: now) }
        return isHopeless ? store.isBallastWhole : store.restoreBallast()
    }

    /// Restores the database's reserve, evicting clean files if necessary.
    func keepBallast() throws(Blocked) {
        if store.restoreBallast() { return }
        if try unneeded.flusher.removeUnlinked(), store.restoreBallast() { return }
        let freed = try freeDisk(atLeast: Self.evictionBytes)
        let isWhole = store.restoreBallast()
        logger.log(
            level: isWhole || freed > 0 ? .info : .debug,
            "the disk of the state directory was full",
            metadata: ["freed": "\(freed)", "isWhole": "\(isWhole)"])
    }

    private func takeRoom(_ bytes: UInt64, at now: Duration) throws(Blocked) -> Bool {
        // Written bytes are useless if they cannot be recorded.
        guard isBallastWhole(at: now) else { return false }
        return try onDisk("measure the local disk") { () throws(DiskError) in
            try budget.withLock { room throws(DiskError) in
                try room.take(bytes, at: now, measure: disk.space)
            }
        }
    }

    private static func noRoom(_ attempt: String) -> Blocked {
        .failure(
            .outOfSpace, attempt,
            remedy:
                "free space on the disk of the state directory; files that are not uploaded yet "
                + "can be evicted after their upload")
    }

    /// Drops clean bytes: of unused files, then of open ones.
    private func freeDisk(atLeast wanted: UInt64) throws(Blocked) -> UInt64 {
        var freed = unneeded.evicted.clear(atLeast: wanted)
        if freed < wanted { freed += try evictLeastRecentlyUsed(atLeast: wanted - freed) }
        return freed < wanted ? try freed + punchOpenFiles(atLeast: wanted - freed) : freed
    }

    /// Drops clean unused files that are not pinned, the least recently used first, then the largest.
    ///
    /// - Returns: The number of freed bytes.
    func evictLeastRecentlyUsed(atLeast wanted: UInt64) throws(Blocked) -> UInt64 {
        try uses.save()
        let start = clock.wallTime
        var freed: UInt64 = 0
        var last = EvictionPlace.start
        while freed < wanted {
            let (page, pinned) = try store.read { database in
                let page = try database.leastRecentlyUsed(after: last, limit: 100)
                var pins = try PinLookup(database)
                return (page, Set(try page.map(\.inode).filter { try pins.isPinned($0) }))
            }
            if page.isEmpty { break }
            var (batch, bytes): ([InodeNumber], UInt64) = ([], 0)
            for file in page where freed + bytes < wanted && bytes <= Self.evictionBytes {
                let inode = file.inode
                last = file
                if pinned.contains(inode) {
                    // It counts as used, so that the next eviction does not begin with it again.
                    if file.accessed < start.wholeMinute.nanoseconds {
                        try uses.note(inode, at: start)
                    }
                    continue
                }
                // An open one would only be refused, at more cost.
                guard files.existing(inode) == nil else { continue }
                batch.append(inode)
                bytes += file.bytes
            }
            let results = try evictFiles(batch)
            for case (_, .evicted(let bytes)) in results { freed += bytes }
            // A disk that removes nothing would cost the cache all of its files, and free no byte.
            if results.contains(where: \.1.isLeft), !results.contains(where: \.1.isDone) { break }
        }
        return freed
    }
}
