/// Carries out the consequences of a transaction that changed the local tree, after its commit.
struct Aftermath: Sendable {
    let trash: Trash
    let reaper: Reaper
    let agenda: Agenda
    let kernelCache: KernelCacheRelay

    /// Carries out the consequences of a committed merge: trash, reaping, scheduling, kernel cache.
    func finish(_ changes: RemoteChanges) throws(Blocked) {
        for inode in changes.discarded { trash.keep(inode) }
        reaper.reap(changes.unlinked)
        if changes.isScheduled { agenda.notify() }
        kernelCache.announce(changes.cacheChanges)
    }
}
