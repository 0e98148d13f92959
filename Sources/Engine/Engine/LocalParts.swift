import Logging

/// The parts of an engine that work without the network.
struct LocalParts: Sendable {
    let files = OpenFileTable()
    let kernelCache = KernelCacheRelay()
    let fillQueue = FillQueue()
    let lostAndFound: LostAndFound
    let agenda: Agenda
    let durability: Durability
    let trash: Trash
    let reaper: Reaper
    let space: Space
    let evictor: Evictor
    let content: ContentStore
    let tree: Tree

    init(
        _ configuration: EngineConfiguration, store: Store, disk: any Disk, clock: any Clock,
        traits: ProviderTraits, logger: Logger
    ) {
        agenda = Agenda(
            store: store, clock: clock, logger: logger, runningMax: traits.transfersMax)
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
            configuration: configuration, store: store, clock: clock, traits: traits,
            files: files, space: space, agenda: agenda)
    }
}
