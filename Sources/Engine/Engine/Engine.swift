package import Logging

/// The system part: keeps all state of one mount, answers the kernel, and synchronises local and
/// remote.
///
/// The kernel's operations are synchronous and may come from any thread. Background work is below
/// ``run()``: asynchronous, on an executor whose threads may block on the local disk.
///
/// Locks, in the order in which they are taken: ``OpenFileTable``, ``OpenFile``, the database's
/// writer. All others are leaves.
package final class Engine: Sendable {
    let configuration: EngineConfiguration
    let store: Store
    let disk: any Disk
    let clock: any Clock
    let logger: Logger
    /// The source of jitter.
    let random: @Sendable () -> UInt64
    let parts: EngineParts

    /// Opens a state directory as the last engine left it, however that ended.
    ///
    /// - Parameters:
    ///   - disk: Holds the content files; the folders of ``StateFiles`` belong to the engine.
    ///   - random: The source of jitter; a simulation passes a seeded one.
    /// - Throws: `.damaged` for a state of another source or version; errors of store and disk.
    package init(
        configuration: EngineConfiguration, store: Store, disk: any Disk, clock: any Clock,
        provider: any Provider, logger: Logger, random: @escaping @Sendable () -> UInt64
    ) throws(EngineError) {
        self.configuration = configuration
        self.store = store
        self.disk = disk
        self.clock = clock
        self.logger = logger
        self.random = random
        parts = EngineParts(configuration, store, disk, clock, provider, logger, random)
        let recovery = Recovery(
            configuration: configuration, store: store, disk: disk, clock: clock, logger: logger,
            random: random, content: parts.content, lostAndFound: parts.lostAndFound)
        do {
            try recovery.run()
            try parts.deletions.recover()
        } catch {
            throw error.failure
        }
    }

    /// Runs all background work: uploads, refreshes, downloads, eviction. Returns when the calling
    /// task is cancelled and all of it has stopped, or was abandoned after
    /// ``EngineConfiguration/departureGrace``. Changes that are not uploaded by then stay pending in
    /// the database (I6).
    package func run() async {
        let executor = withUnsafeCurrentTask { $0?.unownedTaskExecutor?.asTaskExecutor() }
        await withTaskCancellationHandler {
            await withDiscardingTaskGroup { group in
                group.addTask { [parts] in await parts.reaper.run() }
                group.addTask { [parts] in await parts.synchroniser.run() }
                group.addTask { [parts] in await parts.lister.run() }
                group.addTask { [parts] in await parts.downloader.run() }
                group.addTask { [parts] in await parts.refresher.run() }
                group.addTask { [parts] in await parts.evictor.run() }
                group.addTask { [parts] in await parts.durability.run() }
                group.addTask { [parts] in await parts.gate.run() }
                group.addTask { [parts] in await parts.metadata.run() }
                group.addTask { [parts] in await parts.sweeper.run() }
            }
        } onCancel: {
            parts.gate.beginShutdown(on: executor)
        }
        await parts.gate.endShutdown()
        // A restart of the machine before the next mount must not lose changes that only this state
        // has. Content that the remote has too is not worth the wait for a busy disk.
        parts.durability.keepPendingSafe()
    }

    /// Names the kernel whose caches follow the remote's changes.
    package func attach(_ cache: any KernelCache) {
        parts.kernelCache.attach(cache)
    }
}
