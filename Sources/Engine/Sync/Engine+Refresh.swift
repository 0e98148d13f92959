import Synchronization

extension Engine {
    /// How many directories are listed at a time.
    private static var listingsMax: Int { 4 }

    /// Somebody looks into a directory. What is known is shown at once; if it may be old, it is
    /// looked after in the background, and the kernel told of what has changed.
    func noteUse(of directory: InodeNumber) {
        let now = clock.uptime
        if usedDirectories.withLock({ $0.note(directory, at: now) }) { refreshBell.ring() }
    }

    /// Lists the directories in use anew, again and again, until it is cancelled.
    func runRefresher() async {
        noteUseOfPending()
        while !Task.isCancelled {
            let rings = refreshBell.rings
            if isPaused {
                await refreshBell.wait(after: rings)
                continue
            }
            let (due, next) = usedDirectories.withLock { $0.takeDue(at: clock.uptime) }
            if due.contains(.root) { await refreshSpace() }
            await refresh(due)
            await refreshBell.wait(after: rings, until: next, on: clock)
        }
    }

    /// Where changes wait from before, the remote may have changed as well.
    private func noteUseOfPending() {
        let parents = try? store.read { try $0.parentsOfPending(limit: 1_024) }
        for parent in parents ?? [] { noteUse(of: parent) }
    }

    private func refresh(_ directories: [InodeNumber]) async {
        await withTaskGroup(of: Void.self) { group in
            var running = 0
            for directory in directories where !Task.isCancelled {
                if running == Self.listingsMax { await group.next() } else { running += 1 }
                group.addTask { await self.refreshIfListed(directory) }
            }
        }
    }

    private func refreshIfListed(_ directory: InodeNumber) async {
        let isListed = try? store.read { try $0.inode(directory)?.isListed }
        if isListed == true { await refreshQuietly(directory) }
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
