import Logging
import Synchronization

/// Admits bytes to the cache before they are fetched.
extension Space {
    /// Why bytes are fetched.
    enum FetchReason {
        /// A request waits for them.
        case request
        /// The same, of a program that reads here and there in many files.
        case scan
        /// They are likely to be needed next.
        case readahead
        /// They are pinned, see ``PinLookup``.
        case pin
        /// A change cannot be uploaded without them, so that they count as dirty.
        case change
    }

    enum Admission {
        /// The bytes are reserved until ``endFetch(_:of:)``.
        case admitted
        /// There is no space.
        case refused
        /// There will be space once requests in progress have ended: wait for ``CacheUse/signal``.
        case later
    }

    /// Reserves space in the cache for bytes that are about to be fetched, evicting clean ones if
    /// necessary. No lock may be held.
    func admit(
        _ bytes: UInt64, of file: OpenFile, for reason: FetchReason
    ) throws(Blocked) -> Admission {
        try cache.followDisk(disk, at: clock.uptime)
        let unseen = try unneeded.leftovers.unseenBytes(bound: cache.boundNow) {
            () throws(Blocked) in try cache.localBytes()
        }
        if try cache.reserve(bytes, besides: unseen) { return .admitted }
        try cache.eviction.withLock { _ throws(Blocked) in
            // Another caller may just have made the space.
            let excess = try cache.excess(with: bytes + unseen)
            guard excess > 0 else { return }
            let isShort = try cache.excess(with: bytes) > 0
            let freed = try makeRoom(
                excess, for: file,
                isUrgent: isShort && (reason == .request || reason == .scan))
            logger.trace(
                "made space in the cache", metadata: ["wanted": "\(excess)", "freed": "\(freed)"])
        }
        // If nothing more can be evicted, nothing waits for leftovers: there may be none.
        if try cache.reserve(bytes) { return .admitted }
        switch reason {
        case .readahead, .pin: return .refused
        case .request, .scan: return cache.overdraw(bytes, isRequired: false) ? .admitted : .later
        case .change: return cache.overdraw(bytes, isRequired: true) ? .admitted : .later
        }
    }

    /// Returns the cache's bound, which is below the configured one while the disk is nearly full.
    func bound() throws(Blocked) -> UInt64 {
        try cache.followDisk(disk, at: clock.uptime)
        return cache.boundNow
    }

    /// Whether bytes fit without an eviction.
    func hasRoom(for bytes: UInt64) throws(Blocked) -> Bool { try cache.excess(with: bytes) == 0 }

    /// Ends the reservation of fetched bytes; their space is measured instead.
    func endFetch(_ bytes: UInt64, of file: OpenFile) {
        file.state.withLock { cache.measure(&$0) }
        cache.release(bytes)
    }

    /// Makes space for written bytes, which are accepted in any case: only they may exceed the
    /// bound. One writer at a time evicts for all.
    func makeRoom(forWritten bytes: UInt64) throws(Blocked) {
        guard cache.excessNow(with: bytes) > 0, !cache.isFullOfChanges(at: clock.uptime) else {
            return
        }
        _ = try cache.eviction.withLockIfAvailable { _ throws(Blocked) in
            let excess = try cache.excess(with: bytes)
            guard excess > 0 else { return }
            if try makeRoom(excess) < excess { cache.noteFullOfChanges(at: clock.uptime) }
        }
    }
}
