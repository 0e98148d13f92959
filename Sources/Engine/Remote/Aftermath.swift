/// Carries out the consequences of a transaction that changed the local tree, after its commit.
struct Aftermath: Sendable {
    let trash: Trash
    let reaper: Reaper
    let agenda: Agenda
    let kernelCache: KernelCacheRelay
}

extension Aftermath {
    /// What follows a transaction that took in something of the remote.
    ///
    /// - Parameter planned: The inode for whose plan that was done, and which is planned again, or
    ///   waits after a failure, by itself. To be due at once would cut that short, without end.
    func finish(
        _ changes: RemoteChanges, planning planned: InodeNumber? = nil
    ) throws(Halt) {
        for inode in changes.discarded { trash.keep(inode) }
        reaper.reap(changes.unlinked)
        agenda.settle(changes.settled)
        agenda.enqueue(changes.pending.filter { $0 != planned }, after: .zero)
        kernelCache.announce(changes.cacheChanges)
    }
}
