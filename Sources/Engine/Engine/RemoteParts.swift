import Logging

/// The parts of an engine that observe the remote.
struct RemoteParts: Sendable {
    let deadlines: Deadlines
    let gate: RemoteGate
    let activity = RemoteActivity()
    let answers: OutdatedAnswers
    let deletions: DeletionHold
    let schedule: DirectoriesInUse
    let merger: Merger
    let lister: Lister
    let refresher: Refresher
    let metadata: MetadataFetcher

    init(
        _ configuration: EngineConfiguration, store: Store, clock: any Clock,
        provider: any Provider, logger: Logger, random: @escaping @Sendable () -> UInt64,
        local: LocalParts
    ) {
        let agenda = local.agenda
        schedule = DirectoriesInUse(interval: configuration.refreshInterval, clock: clock)
        let looks = MetadataQueue()
        deadlines = Deadlines(clock: clock)
        gate = RemoteGate(
            provider, grace: configuration.shutdownGrace, clock: clock, deadlines: deadlines,
            logger: logger, random: random, agenda: agenda,
            resumes: [agenda.signal, schedule.signal, looks.signal])
        answers = OutdatedAnswers(store: store, activity: activity, agenda: agenda)
        deletions = DeletionHold(
            store: store, clock: clock, agenda: agenda, removalsMax: configuration.removalsMax)
        merger = Merger(
            store: store,
            context: Merge.Context(
                configuration: configuration, clock: clock, logger: logger, gate: gate,
                deletions: deletions, agenda: agenda,
                trashBytesMax: local.trash.bytesMax),
            aftermath: Aftermath(
                trash: local.trash, reaper: local.reaper, agenda: agenda,
                kernelCache: local.kernelCache))
        lister = Lister(
            configuration: configuration, store: store, clock: clock, logger: logger, gate: gate,
            activity: activity, answers: answers, schedule: schedule, space: local.space,
            merger: merger)
        refresher = Refresher(
            store: store, clock: clock, gate: gate, schedule: schedule, lister: lister)
        metadata = MetadataFetcher(
            store: store, clock: clock, logger: logger, random: random, gate: gate,
            activity: activity, answers: answers, lister: lister, merger: merger, looks: looks)
    }
}
