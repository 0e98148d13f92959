import Logging

/// Keeps the cache and the trash within their bounds in the background.
struct Evictor: Sendable {
    let store: Store
    let clock: any Clock
    let logger: Logger
    let space: Space
    let trash: Trash
    let cacheBytesMax: UInt64
}

extension Evictor {
    /// Evicts the least recently used files while the cache exceeds its bound, and prunes the
    /// trash.
    func run() async {
        var pruned: (notifications: UInt64, next: Duration)?
        while !Task.isCancelled {
            do throws(Blocked) {
                if pruned.map({
                    $0.notifications != trash.signal.notifications || $0.next <= clock.uptime
                }) ?? true {
                    pruned = (trash.signal.notifications, clock.uptime + .seconds(3600))
                    try trash.prune()
                }
                try evictDownToBound()
                try space.keepBallast()
            } catch {
                logger.warning("eviction failed", metadata: ["reason": "\(error)"])
            }
            do {
                try await clock.sleep(until: clock.uptime + .seconds(5))
            } catch {
                return
            }
        }
    }

    private func evictDownToBound() throws(Blocked) {
        let bound = cacheBytesMax
        let total = try store.read { try $0.presentBytes() }
        guard total > bound else { return }
        let freed = try space.evictLeastRecentlyUsed(atLeast: total - bound)
        if freed < total - bound {
            logger.debug("cache exceeds its bound", metadata: ["bytes": "\(total - freed)"])
        }
    }
}
