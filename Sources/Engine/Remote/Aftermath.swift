/// Carries out the consequences of a transaction that changed the local tree, after its commit.
struct Aftermath: Sendable {
    let files: OpenFileTable
    let reaper: Reaper
    let agenda: Agenda
    let schedule: DirectoriesInUse
    let kernelCache: KernelCacheRelay
    /// Notified of changes in the tree: pinned files may lack bytes.
    let pinSignal: Signal

    /// Carries out the consequences of a committed merge: reaping, scheduling, kernel cache.
    func finish(_ changes: RemoteChanges) throws(Blocked) {
        reaper.reap(changes.unlinked)
        if changes.isScheduled { agenda.notify() }
        for directory in changes.uncovered { schedule.requireListing(of: directory) }
        if !changes.cacheChanges.isEmpty { pinSignal.notify() }
        for change in changes.cacheChanges {
            switch change {
            case .inode(let inode), .attributes(let inode): files.existing(inode)?.noteNewMode()
            case .name: break
            }
        }
        // Programs that have a removed file open see that it has no name.
        let open = changes.unlinked.filter { files.existing($0) != nil }
        kernelCache.announce(changes.cacheChanges + open.map { .attributes($0) })
    }
}
