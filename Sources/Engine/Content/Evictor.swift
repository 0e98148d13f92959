import Logging

/// Keeps the cache and the trash within their bounds in the background.
struct Evictor: Sendable {
    let store: Store
    let clock: any Clock
    let logger: Logger
    let space: Space
    let trash: Trash
    let cacheBytesMax: UInt64

    /// Evicts the least recently used files, and prunes the trash, until it is cancelled.
    func run() async {
        var (notifications, next) = (UInt64.max, Duration.zero)
        while !Task.isCancelled {
            do throws(Blocked) {
                if notifications != trash.signal.notifications || next <= clock.uptime {
                    notifications = trash.signal.notifications
                    next = clock.uptime + .seconds(3600)
                    try trash.prune()
                }
                try evictDownToBound()
                try space.keepBallast()
            } catch {
                logger.warning("eviction failed", metadata: ["reason": "\(error)"])
            }
            try? await clock.sleep(until: clock.uptime + .seconds(5))
        }
    }

    private func evictDownToBound() throws(Blocked) {
        let total = try store.read { try $0.presentBytes() }
        guard total > cacheBytesMax else { return }
        let freed = try space.evictLeastRecentlyUsed(atLeast: total - cacheBytesMax)
        if freed < total - cacheBytesMax {
            logger.debug("cache exceeds its bound", metadata: ["bytes": "\(total - freed)"])
        }
    }
}
