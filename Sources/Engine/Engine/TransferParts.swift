import Logging

/// The parts of an engine that transfer bytes and changes to and from the remote.
struct TransferParts: Sendable {
    let downloader: Downloader
    let progress: TransferProgress
    let sweeper: UploadSweeper
    let synchroniser: Synchroniser

    init(
        _ configuration: EngineConfiguration, store: Store, clock: any Clock, logger: Logger,
        random: @escaping @Sendable () -> UInt64, local: LocalParts, remote: RemoteParts
    ) {
        let (content, gate, merger) = (local.content, remote.gate, remote.merger)
        let activity = remote.activity
        downloader = Downloader(
            configuration: configuration, store: store, clock: clock, content: content, gate: gate,
            answers: remote.answers, lister: remote.lister, metadata: remote.metadata,
            changes: local.agenda.changes)
        progress = TransferProgress(agenda: local.agenda)
        sweeper = UploadSweeper(
            store: store, clock: clock, logger: logger, gate: gate, progress: progress)
        let comparison = ContentComparison(content: content, gate: gate)
        let uploader = Uploader(
            store: store, gate: gate, activity: activity, content: content,
            preparation: UploadPreparation(
                store: store, clock: clock, logger: logger, content: content,
                metadata: remote.metadata, downloader: downloader, merger: merger),
            progress: progress, sweeper: sweeper,
            verifier: Verifier(
                configuration: configuration, store: store, clock: clock, logger: logger,
                gate: gate, activity: activity, comparison: comparison, merger: merger),
            refusals: Refusals(
                store: store, logger: logger, gate: gate, deletions: remote.deletions,
                merger: merger),
            merger: merger)
        let conflicts = ConflictResolver(
            store: store, clock: clock, gate: gate, activity: activity, comparison: comparison,
            schedule: remote.schedule, merger: merger)
        synchroniser = Synchroniser(
            configuration: configuration, store: store, clock: clock, logger: logger,
            random: random, agenda: local.agenda, content: content, gate: gate,
            deletions: remote.deletions, merger: merger, uploader: uploader, conflicts: conflicts)
    }
}
