import Synchronization

/// Lists the directories in use at intervals, and when the remote reports changes in them.
struct Refresher: Sendable {
    /// The interval at which the free space is asked for.
    let interval: Duration
    let store: Store
    let clock: any Clock
    let gate: RemoteGate
    let schedule: DirectoriesInUse
    let lister: Lister

    /// Lists directories until it is cancelled.
    func run() async {
        noteUseOfPending()
        // A program that is about to write first asks for the free space.
        var nextSpace = clock.uptime
        await withDiscardingTaskGroup { group in
            while !Task.isCancelled {
                let notifications = schedule.signal.notifications
                endFollowing()
                if gate.isPaused {
                    await schedule.signal.wait(after: notifications)
                    continue
                }
                schedule.watchIdle()
                let now = clock.uptime
                if nextSpace <= now {
                    group.addTask { await gate.refreshSpace() }
                    nextSpace = now + interval
                }
                let (due, next) = schedule.uses.withLock { $0.takeDue(at: now) }
                for directory in due { group.addTask { await refresh(directory) } }
                await schedule.signal.wait(
                    after: notifications, until: min(next, nextSpace), on: clock)
            }
            group.cancelAll()
        }
    }

    /// Has the remote follow only the directories that are in use.
    private func endFollowing() {
        for key in schedule.uses.withLock({ $0.takeUnfollowed() }) {
            gate.unfollow(key)
            let now = clock.uptime
            schedule.uses.withLock { $0.noteUnfollowed(key, at: now) }
        }
    }

    /// Marks directories with changes from the last run as used: the remote may have changed there
    /// too.
    private func noteUseOfPending() {
        let parents = try? store.read { try $0.parentsOfPending(limit: 1_024) }
        for parent in parents ?? [] { schedule.noteUse(of: parent) }
    }

    private func refresh(_ directory: InodeNumber) async {
        let known = try? store.read { database in
            (
                isListed: try database.inode(directory)?.isListed ?? false,
                isOnRemote: try database.remoteKey(of: directory) != nil
            )
        }
        if known?.isListed == true { await lister.refreshQuietly(directory) }
        let now = clock.uptime
        schedule.uses.withLock { uses in
            if known?.isOnRemote == false { uses.noteGone(directory, at: now) }
            uses.end(directory, at: now)
        }
        // Another listing may start.
        schedule.signal.notify()
    }
}
