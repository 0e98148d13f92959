package import Engine

/// What kind of mount a ``SimulatedMount`` is.
package struct SimulatedMountSettings: Sendable {
    package var provider = SimulatedProviderSettings()
    package var engine = EngineConfiguration(
        source: "simulation", owner: Caller(userID: 1_000, groupID: 1_000), hostName: "here",
        controlSocket: "/control")
    /// What the local disk can hold.
    package var diskBytes: UInt64 = 1 << 40
    /// Whether that is a quota, of which the disk tells nothing before it refuses.
    package var isDiskQuota = false
    /// The database's own room; nil where it needs none.
    package var ballast: (any Ballast)?

    /// Whether the database is on a disk that forgets what was not synced; else nothing of it is
    /// ever lost.
    package var keepsDatabaseOnDisk = false

    /// After how many steps of tasks a run is taken to be one that never ends.
    package var stepsMax = 30_000

    package init() {}

    /// One of many kinds of remote, with pieces so small that transfers take time.
    package static func drawn(from seed: UInt64) -> SimulatedMountSettings {
        var random = SeededGenerator(seed: seed ^ 0x53455454)
        var settings = SimulatedMountSettings()
        let latencies = [1, 20, 200, 3_000]
        settings.provider.latency =
            .zero...(.milliseconds(latencies[random.next(below: latencies.count)]))
        settings.provider.pieceBytes = 1...[500, 4_000, 20_000][random.next(below: 3)]
        settings.provider.pieceDelay = .zero...(.milliseconds([1, 100][random.next(below: 2)]))
        settings.provider.pageEntries = [1, 2, 100][random.next(below: 3)]
        settings.provider.resumesUploads = random.nextBool()
        settings.provider.movesDirectoriesAtOnce = random.nextBool()
        settings.provider.listsDetails = random.nextBool()
        settings.provider.storesAttributesAtOnce = random.nextBool()
        settings.provider.movesFilesAtOnce = random.nextBool()
        settings.engine.removalsMax = [1, 3, 100][random.next(below: 3)]
        return settings
    }
}
