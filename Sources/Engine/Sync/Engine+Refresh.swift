import Synchronization

extension Engine {
    func noteUse(of directory: InodeNumber) {
        let now = clock.uptime
        usedDirectories.withLock { $0.note(directory, at: now) }
    }

    /// Lists the directories in use anew, again and again, until it is cancelled.
    func runRefresher() async {
        while !Task.isCancelled {
            await refreshSpace()
            do {
                try await clock.sleep(until: clock.uptime + configuration.refreshInterval)
            } catch {
                return
            }
            let directories = usedDirectories.withLock { $0.current(at: clock.uptime) }
            for directory in directories where !Task.isCancelled {
                let isListed = (try? store.read { try $0.inode(directory)?.isListed }) ?? false
                if isListed { await refreshQuietly(directory) }
            }
        }
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
