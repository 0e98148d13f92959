/// Carries out the consequences of a transaction that changed the local tree, after its commit.
struct Aftermath: Sendable {
    let trash: Trash
    let reaper: Reaper
    let agenda: Agenda
    let kernelCache: KernelCacheRelay
}

extension Aftermath {
    /// Carries out the consequences of a committed merge: trash, reaping, scheduling, kernel cache.
    ///
    /// - Parameter planned: The inode whose plan the transaction carried out. It is planned again,
    ///   or backs off after a failure, by itself; scheduling it at once would cut the backoff short
    ///   every time.
    func finish(
        _ changes: RemoteChanges, planning planned: InodeNumber? = nil
    ) throws(Blocked) {
        for inode in changes.discarded { trash.keep(inode) }
        reaper.reap(changes.unlinked)
        agenda.settle(changes.settled)
        agenda.enqueue(changes.pending.filter { $0 != planned }, after: .zero)
        kernelCache.announce(changes.cacheChanges)
    }
}
