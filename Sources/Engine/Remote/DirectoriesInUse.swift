import Synchronization

/// The directories in use, and when each is listed again.
final class DirectoriesInUse: Sendable {
    let uses: Mutex<RefreshSchedule>
    /// Notified when a directory may be due.
    let signal = Signal()
    private let clock: any Clock
    private let kernelCache: KernelCacheRelay

    init(
        interval: Duration, followedInterval: Duration?, clock: any Clock,
        kernelCache: KernelCacheRelay
    ) {
        uses = Mutex(RefreshSchedule(interval: interval, followedInterval: followedInterval))
        self.clock = clock
        self.kernelCache = kernelCache
    }

    /// Records the use of a directory. Known entries are shown at once; if they may be outdated,
    /// they are refreshed in the background and the kernel is told of changes.
    func noteUse(of directory: InodeNumber) {
        let now = clock.uptime
        let (isDue, forgotten) = uses.withLock { uses in
            (uses.note(directory, at: now), uses.takeForgotten())
        }
        if isDue { signal.notify() }
        kernelCache.watch(forgotten)
    }

    /// Has a directory listed soon, as no report will show all that is in it: one made here, which the
    /// remote can follow once it is listed there, or one with an object that is not known any more.
    func requireListing(of directory: InodeNumber) {
        let now = clock.uptime
        if uses.withLock({ $0.requireListing(of: directory, at: now) }) { signal.notify() }
    }

    /// Returns attributes read before with what the kernel may do with them: see
    /// ``Attributes/isIdle``.
    func marking(_ attributes: Attributes) -> Attributes {
        guard attributes.kind == .directory else { return attributes }
        var attributes = attributes
        let now = clock.uptime
        attributes.isIdle = uses.withLock { !$0.isKeptFresh(attributes.inode, at: now) }
        return attributes
    }

    /// Has the kernel report the next use of those that have not been used for long, or are no longer
    /// remembered.
    func watchIdle() {
        let now = clock.uptime
        kernelCache.watch(uses.withLock { $0.takeIdle(at: now) + $0.takeForgotten() })
    }
}
