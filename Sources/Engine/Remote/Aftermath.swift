/// Carries out the consequences of a transaction that changed the local tree, after its commit.
struct Aftermath: Sendable {
    let files: OpenFileTable
    let reaper: Reaper
    let agenda: Agenda
    let kernelCache: KernelCacheRelay

    /// Carries out the consequences of a committed merge: reaping, scheduling, kernel cache.
    func finish(_ changes: RemoteChanges) throws(Blocked) {
        reaper.reap(changes.unlinked)
        if changes.isScheduled { agenda.notify() }
        for change in changes.cacheChanges {
            switch change {
            case .inode(let inode), .attributes(let inode): files.existing(inode)?.noteNewMode()
            case .name: break
            }
        }
        kernelCache.announce(changes.cacheChanges)
    }
}
