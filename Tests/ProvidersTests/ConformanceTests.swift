import Engine
import Host
import ProviderConformance
import ProviderFolder
import ProviderSupport
import Simulation
import Testing

/// Every provider of this version, and its fake, keeps the same contract.
@Suite struct ConformanceTests {
    private let folders = TemporaryFolders()

    private func folder() async throws -> FolderProvider {
        var options = FolderOptions()
        options.pageEntries = 10
        options.pieceBytes = 64 << 10
        return try await FolderProvider.connect(
            path: Array(folders.make().path.utf8), options: options)
    }

    private var fewEntries: ConformanceOptions {
        var options = ConformanceOptions()
        options.entriesOfSeveralPages = 45
        options.bytesOfSeveralPieces = 300 << 10
        return options
    }

    @Test(arguments: ProviderConformance.cases)
    func `a folder keeps the contract`(testCase: ProviderConformance.Case) async throws {
        try await ProviderConformance(options: fewEntries) { try await folder() }.run(testCase)
    }

    @Test(arguments: ProviderConformance.cases)
    func `a throttled folder keeps the contract`(
        testCase: ProviderConformance.Case
    ) async throws {
        try await ProviderConformance(options: fewEntries) {
            ThrottledProvider(
                try await folder(), clock: SystemClock(), latency: .microseconds(100),
                bytesPerSecond: 100 << 20)
        }.run(testCase)
    }

    @Test(arguments: ProviderConformance.cases, [NameMatching.exact, .caseless])
    func `the simulated provider keeps the contract`(
        testCase: ProviderConformance.Case, names: NameMatching
    ) async throws {
        var settings = SimulatedProviderSettings()
        settings.names = names
        settings.latency = .zero...(.microseconds(200))
        settings.pieceDelay = .zero...(.microseconds(200))
        settings.pageEntries = 10
        settings.feed = SimulatedFeedSettings()
        settings.feed?.delay = .zero...(.microseconds(200))
        let fixed = settings
        try await ProviderConformance(options: fewEntries) {
            SimulatedProvider(
                clock: SystemClock(), random: SeededGenerator(seed: 1), settings: fixed)
        }.run(testCase)
    }
}
