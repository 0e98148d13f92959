package import Engine

/// The configuration of a ``SimulatedMount``.
package struct SimulatedMountSettings: Sendable {
    package var provider = SimulatedProviderSettings()
    package var engine = EngineConfiguration(
        source: "simulation", owner: Caller(userID: 1_000, groupID: 1_000), hostName: "here",
        controlSocket: "/control")
    /// The capacity of the local disk.
    package var diskBytes: UInt64 = 1 << 40
    /// Whether the capacity is a quota, which the disk reports only by refusing writes.
    package var isDiskQuota = false
    /// Whether clones on the local disk share their bytes.
    package var sharesBytes = true
    /// Space reserved for the database, if it needs any.
    package var ballast: (any Ballast)?

    /// Whether the database is on a disk that loses unsynced data; if not, it loses nothing.
    package var keepsDatabaseOnDisk = false

    /// The number of task steps after which a run counts as endless.
    package var stepsMax = 100_000

    package init() {}

    /// Draws a kind of remote, with pieces so small that transfers take time,
    /// and a cache.
    package static func drawn(from seed: UInt64) -> SimulatedMountSettings {
        var random = SeededGenerator(seed: seed ^ 0x53455454)
        var settings = SimulatedMountSettings()
        let latencies = [1, 20, 200, 3_000]
        settings.provider.latency =
            .zero...(.milliseconds(latencies[random.next(below: latencies.count)]))
        settings.provider.pieceBytes = 1...[500, 4_000, 20_000][random.next(below: 3)]
        settings.provider.pieceDelay = .zero...(.milliseconds([1, 100][random.next(below: 2)]))
        settings.provider.pageEntries = [1, 2, 100][random.next(below: 3)]
        settings.provider.givesFirstBytes = seed / 7 % 2 == 1
        settings.provider.preparesForChanges = seed / 11 % 4 == 1
        settings.provider.resumesUploads = random.nextBool()
        settings.provider.movesDirectoriesAtOnce = random.nextBool()
        settings.provider.listsMetadata = random.nextBool()
        settings.provider.storesAttributesAtOnce = random.nextBool()
        settings.provider.movesFilesAtOnce = random.nextBool()
        settings.provider.passesOnRefusals = seed / 13 % 2 == 1
        settings.provider.givesCopiesOtherETags = seed / 17 % 2 == 1
        settings.provider.tellsVersionsAhead = seed % 2 == 1
        settings.engine.firstLookMax = .milliseconds([0, 100, 1_000][Int(seed / 3 % 3)])
        settings.engine.evictedAtOnceMax = [0, 1, 1_024][Int(seed / 2 % 3)]
        settings.provider.checksums = [.none, .declared, .lookalike][Int(seed % 3)]
        settings.engine.removalsMax = [1, 3, 100][random.next(below: 3)]
        settings.engine.mergedEntriesMax = [2, 7, 500][Int(seed / 5 % 3)]
        // Files have up to 18,000 bytes: a few fit, or one does not.
        settings.engine.cacheBytesMax = [20 << 30, 64 << 10, 12 << 10][random.next(below: 3)]
        // Room for a few files, whatever the cache may take.
        if seed % 4 == 3 { settings.engine.keepFreeBytes = settings.diskBytes - (48 << 10) }
        settings.sharesBytes = random.next(below: 4) == 0
        settings.engine.snapshotPieceBytes = [64, 1_000, 4_096, 1 << 20][random.next(below: 4)]
        // Files of programs are as small as these.
        settings.engine.digestedBytesMax = settings.engine.snapshotPieceBytes
        settings.engine.longWriterBytesMax = [0, 1_000, 1 << 20][random.next(below: 3)]
        settings.provider.spoolsListings = random.nextBool()
        settings.engine.snapshotCutBytesMax = [1_000, 20_000, 1 << 20][random.next(below: 3)]
        let confirmation = random.next(below: 8)
        settings.provider.confirmsVersions = confirmation > 2
        settings.provider.confirmsParts = confirmation < 2
        settings.drawFeed(from: seed)
        return settings
    }

    /// Draws how changes are reported, in half of the seeds. Then nothing else finds them for a day.
    private mutating func drawFeed(from seed: UInt64) {
        var random = SeededGenerator(seed: seed ^ 0x46454544)
        guard random.nextBool() else { return }
        engine.followedRefreshInterval = .seconds(86_400)
        var feed = SimulatedFeedSettings()
        feed.delay = .zero...(.milliseconds([1, 100, 5_000][random.next(below: 3)]))
        feed.refusals = [0, 0, 0.3][random.next(below: 3)]
        feed.losses = [0, 0.3][random.next(below: 2)]
        feed.repeats = [0, 0.3][random.next(below: 2)]
        provider.feed = feed
    }
}
