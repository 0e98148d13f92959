import Logging
import Synchronization

/// Keeps the cache and the trash within their bounds in the background.
struct Evictor: Sendable {
    let store: Store
    let clock: any Clock
    let logger: Logger
    let space: Space
    let trash: Trash

    /// Stores the times of last use, evicts the least recently used files, and prunes the trash, until it is cancelled.
    func run() async {
        var (notifications, next) = (UInt64.max, Duration.zero)
        while !Task.isCancelled {
            var isExceeded = false
            do throws(Blocked) {
                if notifications != trash.signal.notifications || next <= clock.uptime {
                    notifications = trash.signal.notifications
                    next = clock.uptime + .seconds(3600)
                    try trash.prune()
                }
                try space.uses.save()
                try space.storeUnrecorded()
                try space.evictUnstored()
                isExceeded = try !evictDownToBound()
                try space.keepBallast()
            } catch {
                logger.warning("eviction failed", metadata: ["reason": "\(error)"])
            }
            // Changes that exceed the bound can be evicted as soon as they are uploaded.
            try? await clock.sleep(until: clock.uptime + .seconds(isExceeded ? 1 : 5))
        }
        try? space.uses.save()
    }

    /// - Returns: Whether the cache is within its bound.
    private func evictDownToBound() throws(Blocked) -> Bool {
        let cache = space.cache
        try cache.followDisk(space.disk, at: clock.uptime)
        try cache.eviction.withLock { _ throws(Blocked) in
            let excess = try cache.excess()
            if excess > 0 { _ = try space.makeRoom(excess) }
        }
        let excess = try cache.excess()
        if excess > 0 { logger.debug("cache exceeds its bound", metadata: ["by": "\(excess)"]) }
        return excess == 0
    }
}
