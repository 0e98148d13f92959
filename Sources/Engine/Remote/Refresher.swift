import Synchronization

/// Lists the directories in use at intervals.
struct Refresher: Sendable {
    let store: Store
    let clock: any Clock
    let gate: RemoteGate
    let schedule: DirectoriesInUse
    let lister: Lister

    /// Lists the directories in use at intervals, until it is cancelled.
    func run() async {
        noteUseOfPending()
        await withDiscardingTaskGroup { group in
            // A program that is about to write first asks for the free space.
            group.addTask { await gate.refreshSpace() }
            while !Task.isCancelled {
                let notifications = schedule.signal.notifications
                if gate.isPaused {
                    await schedule.signal.wait(after: notifications)
                    continue
                }
                schedule.watchIdle()
                let (due, next) = schedule.uses.withLock { $0.takeDue(at: clock.uptime) }
                for directory in due {
                    if directory == .root { group.addTask { await gate.refreshSpace() } }
                    group.addTask { await refresh(directory) }
                }
                await schedule.signal.wait(after: notifications, until: next, on: clock)
            }
            group.cancelAll()
        }
    }

    /// Marks directories with changes from the last run as used: the remote may have changed there
    /// too.
    private func noteUseOfPending() {
        let parents = try? store.read { try $0.parentsOfPending(limit: 1_024) }
        for parent in parents ?? [] { schedule.noteUse(of: parent) }
    }

    private func refresh(_ directory: InodeNumber) async {
        let isListed = try? store.read { try $0.inode(directory)?.isListed }
        if isListed == true { await lister.refreshQuietly(directory) }
        schedule.uses.withLock { $0.end(directory) }
        // Another listing may start.
        schedule.signal.notify()
    }
}
