package import Logging

/// Keeps all state of one mount, serves the kernel, and synchronises local and remote.
///
/// The kernel's operations are synchronous and may come from any thread. Background work runs below
/// ``run()``: asynchronous, on an executor whose threads may block on the local disk.
///
/// Locks, in the order in which they are taken: exclusive work on unused files, ``OpenFileTable``,
/// ``OpenFile``, the database's writer. All others are leaves.
package final class Engine: Sendable {
    let configuration: EngineConfiguration
    let store: Store
    let clock: any Clock
    let logger: Logger
    /// The source of jitter.
    let random: @Sendable () -> UInt64
    let local: LocalParts
    let remote: RemoteParts
    let transfer: TransferParts
    private let pools: WorkPools

    /// Opens a state directory as the last engine left it, however that ended.
    ///
    /// - Parameters:
    ///   - disk: Holds the content files; the folders of ``StateFiles`` belong to the engine.
    ///   - pools: Their threads outlive ``run()``.
    ///   - random: The source of jitter; a simulation passes a seeded one.
    /// - Throws: `.damaged` for a state of another source or version; errors of store and disk.
    package init(
        configuration: EngineConfiguration, store: Store, disk: any Disk, clock: any Clock,
        provider: any Provider, pools: WorkPools = WorkPools(), logger: Logger,
        random: @escaping @Sendable () -> UInt64
    ) throws(EngineError) {
        self.configuration = configuration
        self.store = store
        self.clock = clock
        self.logger = logger
        self.random = random
        self.pools = pools
        local = LocalParts(
            configuration, store: store, disk: disk, clock: clock, traits: provider.traits,
            pools: pools, logger: logger)
        remote = RemoteParts(
            configuration, store: store, clock: clock, provider: provider, logger: logger,
            random: random, local: local)
        transfer = TransferParts(
            configuration, store: store, clock: clock, logger: logger, random: random,
            local: local, remote: remote)
        let recovery = Recovery(
            configuration: configuration, store: store, disk: disk, clock: clock, logger: logger,
            random: random, content: local.content, trash: local.trash,
            lostAndFound: local.lostAndFound)
        do {
            let doubled = try store.matchNames(provider.traits.names)
            try store.resumeHistory(at: clock.wallTime, random())
            try recovery.run()
            try local.agenda.recover()
            try remote.deletions.recover()
            try forget(doubled)
        } catch {
            throw error.failure
        }
    }

    /// Removes names whose objects other names here have too; changed files keep them, and are not
    /// sent. Nothing changes on the remote.
    private func forget(_ doubled: [InodeNumber]) throws(Blocked) {
        guard !doubled.isEmpty else { return }
        try store.write {
            try $0.noteGone(
                doubled, isHeld: false, at: clock.wallTime, due: local.agenda.due())
        }
        logger.warning(
            "the remote takes different names for one", metadata: ["count": "\(doubled.count)"])
    }

    /// Runs all background work: uploads, refreshes, downloads, eviction. Returns when the calling
    /// task is cancelled and all of it has stopped, or was abandoned after
    /// ``EngineConfiguration/shutdownGrace``. Changes that are not uploaded by then stay pending in
    /// the database (I6).
    package func run() async {
        let executor = withUnsafeCurrentTask { $0?.unownedTaskExecutor?.asTaskExecutor() }
        await withTaskCancellationHandler {
            await withDiscardingTaskGroup { group in
                group.addTask(on: pools.upkeep) { [local] in
                    await local.reaper.run()
                }
                group.addTask(on: pools.upkeep) { [local] in
                    await local.sweep.run()
                }
                group.addTask(on: pools.upkeep) { [remote] in
                    await remote.deletions.run()
                }
                group.addTask { [transfer] in await transfer.synchroniser.run() }
                group.addTask { [remote] in
                    await remote.lister.run(noteListing: remote.walks.noteListing)
                }
                group.addTask { [transfer] in await transfer.downloader.run() }
                group.addTask(on: pools.content) { [transfer] in
                    await transfer.downloader.wholeFileCheck.run()
                }
                group.addTask { [remote] in await remote.follower.run() }
                group.addTask { [remote] in await remote.refresher.run() }
                group.addTask { [transfer] in await transfer.pinFetcher.run() }
                group.addTask(on: pools.upkeep) { [local] in
                    await local.evictor.run()
                }
                group.addTask(on: pools.upkeep) { [local] in
                    await local.space.unneeded.flusher.run { () throws(Blocked) in
                        try local.rewriter.rewriteSome()
                    }
                }
                group.addTask(on: pools.upkeep) { [local] in
                    await local.space.unneeded.evicted.run()
                }
                group.addTask(on: pools.watch) { [remote] in
                    await remote.deadlines.run()
                }
                group.addTask(on: pools.watch) { [remote] in
                    await remote.gate.run()
                }
                group.addTask { [remote] in await remote.metadata.run() }
                group.addTask { [transfer] in await transfer.sweeper.run() }
            }
        } onCancel: {
            remote.gate.departure.begin(on: executor)
        }
        await remote.gate.departure.end()
        // A restart of the machine before the next mount must not lose changes that only this state
        // has.
        local.space.unneeded.flusher.finish { () throws(Blocked) in
            try local.rewriter.finish()
        }
        local.space.unneeded.evicted.finish(until: clock.uptime + configuration.shutdownGrace)
    }

    /// Sets the kernel cache that follows remote changes.
    package func attach(_ cache: any KernelCache) {
        local.kernelCache.attach(cache)
    }
}
