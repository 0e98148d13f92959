import Synchronization

extension Engine {
    /// Somebody looks into a directory. What is known is shown at once; if it may be old, it is
    /// looked after in the background, and the kernel told of what has changed.
    func noteUse(of directory: InodeNumber) {
        let now = clock.uptime
        if usedDirectories.withLock({ $0.note(directory, at: now) }) { refreshBell.ring() }
    }

    /// Lists the directories in use anew, again and again, until it is cancelled.
    func runRefresher() async {
        noteUseOfPending()
        await withDiscardingTaskGroup { group in
            // Whoever is about to write looks first how much room there is.
            group.addTask { await self.refreshSpace() }
            while !Task.isCancelled {
                let rings = refreshBell.rings
                if isPaused {
                    await refreshBell.wait(after: rings)
                    continue
                }
                let (due, next) = usedDirectories.withLock { $0.takeDue(at: clock.uptime) }
                for directory in due {
                    if directory == .root { group.addTask { await self.refreshSpace() } }
                    group.addTask { await self.refresh(directory) }
                }
                await refreshBell.wait(after: rings, until: next, on: clock)
            }
            group.cancelAll()
        }
    }

    /// Where changes wait from before, the remote may have changed as well.
    private func noteUseOfPending() {
        let parents = try? store.read { try $0.parentsOfPending(limit: 1_024) }
        for parent in parents ?? [] { noteUse(of: parent) }
    }

    private func refresh(_ directory: InodeNumber) async {
        let isListed = try? store.read { try $0.inode(directory)?.isListed }
        if isListed == true { await refreshQuietly(directory) }
        usedDirectories.withLock { $0.end(directory) }
        // There is room for the next one.
        refreshBell.ring()
    }

    private func refreshSpace() async {
        do throws(ProviderError) {
            let space = try await provider.space()
            remoteSpace.withLock { $0 = space }
        } catch {
            noteFailure(error)
        }
    }
}
