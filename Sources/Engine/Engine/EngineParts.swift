import Logging

/// The parts of an engine, each with what it may call.
struct EngineParts: Sendable {
    let files = OpenFileTable()
    let kernelCache = KernelCacheRelay()
    let lostAndFound: LostAndFound
    let agenda: Agenda
    let durability: Durability
    let trash: Trash
    let reaper: Reaper
    let space: Space
    let evictor: Evictor
    let fillQueue = FillQueue()
    let content: ContentStore
    let tree: Tree
    let gate: RemoteGate
    let deletions: Deletions
    let schedule: RefreshSchedule
    let lister: Lister
    let refresher: Refresher
    let metadata: MetadataFetcher
    let downloader: Downloader
    let progress: TransferProgress
    let sweeper: UploadSweeper
    let synchroniser: Synchroniser

    init(
        _ configuration: EngineConfiguration, _ store: Store, _ disk: any Disk, _ clock: any Clock,
        _ provider: any Provider, _ logger: Logger, _ random: @escaping @Sendable () -> UInt64
    ) {
        // Local.
        agenda = Agenda(
            store: store, clock: clock, logger: logger, runningMax: provider.traits.transfersMax)
        lostAndFound = LostAndFound(disk: disk)
        durability = Durability(store: store, disk: disk, clock: clock, logger: logger)
        trash = Trash(
            store: store, disk: disk, clock: clock, logger: logger, files: files,
            bytesMax: configuration.cacheBytesMax / 10)
        reaper = Reaper(
            store: store, disk: disk, logger: logger, files: files, trash: trash,
            removalsMax: configuration.removalsMax)
        space = Space(
            store: store, disk: disk, clock: clock, logger: logger, files: files,
            durability: durability, kernelCache: kernelCache)
        evictor = Evictor(
            store: store, clock: clock, logger: logger, space: space, trash: trash,
            cacheBytesMax: configuration.cacheBytesMax)
        content = ContentStore(
            configuration: configuration, store: store, disk: disk, clock: clock, logger: logger,
            files: files, space: space, durability: durability, reaper: reaper, agenda: agenda,
            fillQueue: fillQueue)
        tree = Tree(
            configuration: configuration, store: store, clock: clock, traits: provider.traits,
            files: files, space: space, agenda: agenda)

        // The remote's changes.
        schedule = RefreshSchedule(interval: configuration.refreshInterval, clock: clock)
        let looks = LookQueue()
        gate = RemoteGate(
            provider, grace: configuration.departureGrace, clock: clock, logger: logger,
            random: random, agenda: agenda,
            resumes: [agenda.signal, schedule.signal, looks.signal])
        let activity = RemoteActivity()
        let answers = OutdatedAnswers(store: store, activity: activity, agenda: agenda)
        deletions = Deletions(
            store: store, clock: clock, agenda: agenda, removalsMax: configuration.removalsMax)
        let merger = Merger(
            store: store,
            context: Merge.Context(
                configuration: configuration, clock: clock, logger: logger, gate: gate,
                deletions: deletions, conflictNames: agenda.conflictNames,
                trashBytesMax: trash.bytesMax),
            aftermath: Aftermath(
                trash: trash, reaper: reaper, agenda: agenda, kernelCache: kernelCache))
        lister = Lister(
            configuration: configuration, store: store, clock: clock, logger: logger, gate: gate,
            activity: activity, answers: answers, schedule: schedule, space: space, merger: merger)
        refresher = Refresher(
            store: store, clock: clock, gate: gate, schedule: schedule, lister: lister)
        metadata = MetadataFetcher(
            store: store, clock: clock, logger: logger, random: random, gate: gate,
            activity: activity, answers: answers, lister: lister, merger: merger, looks: looks)

        // Transfers.
        downloader = Downloader(
            configuration: configuration, store: store, clock: clock, content: content, gate: gate,
            answers: answers, lister: lister, metadata: metadata, changes: agenda.changes)
        progress = TransferProgress(agenda: agenda)
        sweeper = UploadSweeper(
            store: store, clock: clock, logger: logger, gate: gate, progress: progress)
        let comparison = ContentComparison(content: content, gate: gate)
        let verifier = Verifier(
            configuration: configuration, store: store, clock: clock, logger: logger, gate: gate,
            activity: activity, comparison: comparison, merger: merger)
        let preparation = UploadPreparation(
            store: store, clock: clock, logger: logger, content: content, metadata: metadata,
            downloader: downloader, merger: merger)
        let refusals = Refusals(
            store: store, logger: logger, gate: gate, deletions: deletions, merger: merger)
        let uploader = Uploader(
            store: store, gate: gate, activity: activity, content: content,
            preparation: preparation, progress: progress, sweeper: sweeper, verifier: verifier,
            refusals: refusals, merger: merger)
        let conflicts = ConflictResolver(
            store: store, clock: clock, gate: gate, activity: activity, comparison: comparison,
            schedule: schedule, merger: merger)
        synchroniser = Synchroniser(
            configuration: configuration, store: store, clock: clock, logger: logger,
            random: random, agenda: agenda, content: content, gate: gate, deletions: deletions,
            merger: merger, uploader: uploader, conflicts: conflicts)
    }
}
