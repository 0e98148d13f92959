import Logging

/// The parts of an engine that work without the network.
struct LocalParts: Sendable {
    let files = OpenFileTable()
    let kernelCache = KernelCacheRelay()
    let readAhead: ReadAheadQueue
    let pins: Pins
    let lostAndFound: LostAndFound
    let agenda: Agenda
    let durability: Durability
    let trash: Trash
    let reaper: Reaper
    let space: Space
    let evictor: Evictor
    let content: ContentStore
    let rewriter: SuspectRewriter
    let sweep: ContentSweep
    let tree: Tree

    init(
        _ configuration: EngineConfiguration, store: Store, disk: any Disk, clock: any Clock,
        traits: ProviderTraits, pools: WorkPools, logger: Logger
    ) {
        readAhead = ReadAheadQueue(piecesMax: configuration.piecesAheadMax)
        agenda = Agenda(
            store: store, clock: clock, logger: logger, runningMax: traits.transfersMax)
        pins = Pins(
            store: store, files: files, bytesMax: configuration.cacheBytesMax,
            changes: agenda.changes)
        lostAndFound = LostAndFound(disk: disk)
        durability = Durability(store: store, disk: disk, logger: logger)
        trash = Trash(
            configuration: configuration, store: store, disk: disk, clock: clock, logger: logger)
        reaper = Reaper(
            store: store, disk: disk, logger: logger, files: files, trash: trash,
            removalsMax: configuration.removalsMax)
        let flusher = Flusher(clock: clock, logger: logger, durability: durability, reaper: reaper)
        let cache = CacheUse(
            store: store, bytesMax: configuration.cacheBytesMax,
            keepFreeBytes: configuration.keepFreeBytes)
        let leftovers = Leftovers(
            store: store, disk: disk, logger: logger, files: files, lostAndFound: lostAndFound,
            bytesMax: cache.overdraftBytes)
        space = Space(
            store: store, disk: disk, clock: clock, logger: logger, files: files,
            durability: durability, kernelCache: kernelCache, cache: cache,
            unneeded: UnneededContent(
                flusher: flusher, leftovers: leftovers,
                evicted: EvictedContent(
                    store: store, disk: disk, clock: clock, logger: logger, files: files,
                    cache: cache, kernelCache: kernelCache)),
            uses: LastUses(store), evictedAtOnceMax: configuration.evictedAtOnceMax)
        evictor = Evictor(
            store: store, clock: clock, logger: logger, space: space, trash: trash)
        content = ContentStore(
            configuration: configuration, store: store, disk: disk, clock: clock, logger: logger,
            files: files,
            snapshots: Snapshots(
                configuration: configuration, disk: disk, files: files, pools: pools,
                logger: logger),
            space: space, durability: durability, reaper: reaper, agenda: agenda,
            readAhead: readAhead)
        rewriter = SuspectRewriter(
            store: store, clock: clock, logger: logger, content: content)
        sweep = ContentSweep(
            store: store, disk: disk, logger: logger, files: files, space: space,
            leftovers: leftovers)
        tree = Tree(
            configuration: configuration, store: store, clock: clock, traits: traits,
            files: files, space: space, agenda: agenda)
    }
}

/// The parts of an engine that observe the remote.
struct RemoteParts: Sendable {
    let deadlines: Deadlines
    let gate: RemoteGate
    let offline: OfflinePolicy
    let activity: RemoteActivity
    let answers: OutdatedAnswers
    let deletions: DeletionHold
    let schedule: DirectoriesInUse
    let merger: Merger
    let lister: Lister
    let names: NameFinder
    let refresher: Refresher
    let follower: ChangeFollower
    let walks: TreeWalks
    let metadata: MetadataFetcher

    init(
        _ configuration: EngineConfiguration, store: Store, clock: any Clock,
        provider: any Provider, logger: Logger, random: @escaping @Sendable () -> UInt64,
        local: LocalParts
    ) {
        let agenda = local.agenda
        activity = RemoteActivity(names: provider.traits.names)
        schedule = DirectoriesInUse(
            interval: configuration.refreshInterval,
            followedInterval: configuration.followedRefreshInterval, clock: clock,
            kernelCache: local.kernelCache)
        let looks = MetadataQueue()
        deadlines = Deadlines(clock: clock)
        gate = RemoteGate(
            provider, grace: configuration.shutdownGrace, clock: clock, deadlines: deadlines,
            logger: logger, random: random, agenda: agenda,
            resumes: [agenda.signal, schedule.signal, looks.signal, local.pins.signal])
        offline = OfflinePolicy(configuration: configuration, clock: clock, gate: gate)
        answers = OutdatedAnswers(store: store, activity: activity, agenda: agenda)
        deletions = DeletionHold(
            store: store, clock: clock, agenda: agenda, removalsMax: configuration.removalsMax,
            changesMax: configuration.mergedEntriesMax)
        merger = Merger(
            store: store,
            context: Merge.Context(
                configuration: configuration, clock: clock, logger: logger, gate: gate,
                deletions: deletions, agenda: agenda),
            aftermath: Aftermath(
                files: local.files, reaper: local.reaper, agenda: agenda, schedule: schedule,
                kernelCache: local.kernelCache, pinSignal: local.pins.signal))
        let detector = Locked(WalkDetector())
        lister = Lister(
            configuration: configuration, store: store, clock: clock, logger: logger, gate: gate,
            activity: activity, answers: answers, schedule: schedule, space: local.space,
            merger: merger, walks: detector,
            firstLooks: Locked(
                FirstLooks(
                    waitMax: configuration.firstLookMax, budget: configuration.firstLooksMax,
                    at: clock.uptime)))
        names = NameFinder(
            store: store, clock: clock, gate: gate, activity: activity, answers: answers,
            lister: lister, merger: merger, firstBytes: local.files.firstBytes)
        refresher = Refresher(
            interval: configuration.refreshInterval, store: store, clock: clock, gate: gate,
            schedule: schedule, lister: lister)
        follower = ChangeFollower(
            clock: clock, logger: logger, random: random, gate: gate, schedule: schedule)
        walks = TreeWalks(
            store: store, clock: clock, gate: gate, detector: detector,
            listings: lister.listings, looks: looks)
        metadata = MetadataFetcher(
            store: store, clock: clock, logger: logger, random: random, gate: gate,
            activity: activity, answers: answers, lister: lister, merger: merger, looks: looks,
            walks: walks)
    }
}

/// The parts of an engine that transfer bytes and changes to and from the remote.
struct TransferParts: Sendable {
    let downloader: Downloader
    let progress: TransferProgress
    let sweeper: UploadSweeper
    let synchroniser: Synchroniser
    let pinFetcher: PinFetcher

    init(
        _ configuration: EngineConfiguration, store: Store, clock: any Clock, logger: Logger,
        random: @escaping @Sendable () -> UInt64, local: LocalParts, remote: RemoteParts
    ) {
        let (content, gate, merger) = (local.content, remote.gate, remote.merger)
        let activity = remote.activity
        downloader = Downloader(
            configuration: configuration, store: store, clock: clock, content: content, gate: gate,
            answers: remote.answers, lister: remote.lister, metadata: remote.metadata,
            wholeFileCheck: WholeFileCheck(
                store: store, clock: clock, logger: logger, random: random, content: content,
                gate: gate, kernelCache: local.kernelCache),
            changes: local.agenda.changes)
        pinFetcher = PinFetcher(
            pins: local.pins, store: store, clock: clock, logger: logger, random: random,
            gate: gate, lister: remote.lister, downloader: downloader,
            refreshInterval: configuration.refreshInterval)
        progress = TransferProgress(agenda: local.agenda, clock: clock)
        sweeper = UploadSweeper(
            store: store, clock: clock, logger: logger, gate: gate, progress: progress)
        let comparison = ContentComparison(content: content, gate: gate)
        let uploader = Uploader(
            store: store, gate: gate, activity: activity, content: content,
            preparation: UploadPreparation(
                store: store, clock: clock, logger: logger, content: content,
                metadata: remote.metadata, downloader: downloader, merger: merger),
            progress: progress, schedule: remote.schedule, sweeper: sweeper,
            verifier: Verifier(
                configuration: configuration, store: store, clock: clock, logger: logger,
                gate: gate, activity: activity, comparison: comparison, merger: merger,
                schedule: remote.schedule,
                doubts: Locked(InFlightWindow(startedAt: clock.uptime))),
            refusals: Refusals(
                store: store, logger: logger, gate: gate, deletions: remote.deletions,
                merger: merger),
            merger: merger, digestedBytesMax: configuration.digestedBytesMax)
        let conflicts = ConflictResolver(
            store: store, clock: clock, gate: gate, activity: activity, comparison: comparison,
            schedule: remote.schedule, merger: merger)
        synchroniser = Synchroniser(
            configuration: configuration, store: store, clock: clock, logger: logger,
            random: random, agenda: local.agenda, content: content, gate: gate,
            deletions: remote.deletions, merger: merger, uploader: uploader, conflicts: conflicts)
    }
}
