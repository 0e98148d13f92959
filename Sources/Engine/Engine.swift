package import Logging
import Synchronization

/// The system part: keeps every bit of state of one mount, answers the kernel, and brings local and
/// remote together.
///
/// What the kernel asks for is in `Engine+Operations.swift` and the folders beside it: synchronous,
/// from any thread. What goes on by itself is below ``run()``: asynchronous, on an executor whose
/// threads may block on the local disk.
///
/// Locks, in the order in which they are taken: ``OpenFileTable``, ``OpenFile``, the database's
/// writer. The small ones (``SyncQueue``, ``RemoteActivity``, ``Doorbell``) are leaves.
package final class Engine: Sendable {
    let configuration: EngineConfiguration
    let store: Store
    let disk: any Disk
    let clock: any Clock
    let provider: any Provider
    let logger: Logger
    /// Where jitter comes from.
    let random: @Sendable () -> UInt64

    let files = OpenFileTable()
    let queue: Mutex<SyncQueue>
    /// Rings when the queue has something new to decide.
    let queueBell = Doorbell()
    /// Rings whenever the status may look different.
    let changeBell = Doorbell()
    let activity = RemoteActivity()
    let doubts: Mutex<RequestDoubts>
    let transfers = Mutex<[InodeNumber: Transfer]>([:])
    let sentBytes = Mutex(SentBytes())
    let listings = ListingQueue()
    let fillQueue = Mutex<[InodeNumber]>([])
    let fillBell = Doorbell()
    let usedDirectories: Mutex<UsedDirectories>
    let refreshBell = Doorbell()
    /// Rings when the remote has refused the credentials.
    let pauseBell = Doorbell()
    /// Inodes whose request was refused like that, and not tried again since.
    let refusals = Mutex<Set<InodeNumber>>([])
    /// How many names of conflicts each inode has got since it was last settled.
    let conflictNames = Mutex<[InodeNumber: Int]>([:])
    let deletions = Mutex(DeletionGuard())
    /// Rings when something has come into the trash.
    let trashBell = Doorbell()
    /// Evicted inodes whose eviction may not survive a power cut yet.
    let evictionsUnsynced = Mutex<Set<InodeNumber>>([])
    let looks = LookQueue()
    let walks = Mutex(DirectoryWalks())
    let room = Mutex(RoomLedger())
    let remoteSpace = Mutex<StorageSpace?>(nil)
    private let departure: Departure
    let reachability = Mutex<Reachability>(Reachability())
    private let kernelCache = Mutex<(any KernelCache)?>(nil)

    /// Takes up a state directory where the last engine left it, however that ended.
    ///
    /// - Parameters:
    ///   - disk: Holds the content files; `content/` and `frozen/` in it are the engine's.
    ///   - random: Where jitter comes from; a simulation passes a seeded one.
    /// - Throws: `.damaged` for a state of another source or version; what store and disk throw.
    package init(
        configuration: EngineConfiguration, store: Store, disk: any Disk, clock: any Clock,
        provider: any Provider, logger: Logger, random: @escaping @Sendable () -> UInt64
    ) throws(EngineError) {
        self.configuration = configuration
        self.store = store
        self.disk = disk
        self.clock = clock
        departure = Departure(
            grace: configuration.departureGrace, clock: clock, logger: logger)
        self.provider = ImpatientProvider(inner: provider, clock: clock, departure: departure)
        self.logger = logger
        self.random = random
        usedDirectories = Mutex(UsedDirectories(interval: configuration.refreshInterval))
        queue = Mutex(SyncQueue(runningMax: provider.traits.transfersMax))
        doubts = Mutex(RequestDoubts(startedAt: clock.uptime))
        do {
            try recover()
        } catch .failure(let error) {
            throw error
        } catch {
            preconditionFailure("recovery asked for the network")
        }
    }

    /// Everything that goes on by itself: uploads, refreshes, materialisation, eviction. Returns
    /// when the calling task is cancelled and all of it has stopped, or been left alone after
    /// ``EngineConfiguration/departureGrace``. What has not been uploaded by then stays pending in
    /// the database (I6).
    package func run() async {
        let executor = withUnsafeCurrentTask { $0?.unownedTaskExecutor?.asTaskExecutor() }
        await withTaskCancellationHandler {
            await withDiscardingTaskGroup { group in
                group.addTask { await self.runReaper() }
                group.addTask { await self.runSynchroniser() }
                group.addTask { await self.runLister() }
                group.addTask { await self.runFillers() }
                group.addTask { await self.runRefresher() }
                group.addTask { await self.runEvictor() }
                group.addTask { await self.runSafekeeper() }
                group.addTask { await self.runProber() }
                group.addTask { await self.runDetailer() }
                group.addTask { await self.runAbandoner() }
            }
        } onCancel: {
            departure.begin(on: executor)
        }
        await departure.end()
        // A start of the machine before the next mount must not cost what only we have. What the
        // remote has too is not worth the wait for a busy disk.
        keepPendingSafe()
    }

    /// Names the kernel whose caches are to follow the remote's changes.
    package func attach(_ cache: any KernelCache) {
        kernelCache.withLock { $0 = cache }
    }

    /// Tells the kernel what changed. No lock may be held.
    func announce(_ changes: [CacheChange]) {
        guard !changes.isEmpty, let cache = kernelCache.withLock({ $0 }) else { return }
        for change in changes {
            switch change {
            case .name(let name, let parent): cache.invalidate(name, in: parent)
            case .inode(let inode): cache.invalidate(inode)
            }
        }
    }

    func requireWritable(_ attempt: @autoclosure () -> String) throws(Halt) {
        guard configuration.isReadOnly else { return }
        throw .failure(.readOnly, attempt(), remedy: "mount without --read-only")
    }
}

/// Something that the kernel may remember and that is no longer so.
enum CacheChange: Hashable {
    case name(FileName, InodeNumber)
    case inode(InodeNumber)
}
