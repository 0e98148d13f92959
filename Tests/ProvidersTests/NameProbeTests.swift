import Engine
import Host
import Logging
import ProviderFolder
import Simulation
import Synchronization
import Testing
import Transport

@testable import ProviderSupport

@Suite("The look at names that a store takes for one")
struct NameProbeTests {
    private static func key(_ names: String...) -> ObjectKey {
        ObjectKey(names.compactMap { FileName($0) })
    }

    private func provider(
        _ names: NameMatching, pageEntries: Int = 1_000
    ) -> SimulatedProvider {
        var settings = SimulatedProviderSettings()
        settings.latency = .zero...(.zero)
        settings.names = names
        settings.tellsNames = false
        settings.pageEntries = pageEntries
        return SimulatedProvider(
            clock: SystemClock(), random: SeededGenerator(seed: 1), settings: settings)
    }

    private func look(at provider: SimulatedProvider) async -> NameProbe.Verdict? {
        await NameProbe(provider).verdict(within: .seconds(60), on: SystemClock())
    }

    private func proven(_ matching: NameMatching) -> NameProbe.Verdict {
        NameProbe.Verdict(matching: matching, isProven: true)
    }

    private func likely(_ matching: NameMatching) -> NameProbe.Verdict {
        NameProbe.Verdict(matching: matching, isProven: false)
    }

    @Test(
        arguments: [NameMatching.exact, .composition, .caseless],
        ["Readme.txt", "\u{E9}t\u{E9}", "1 \u{C9}"])
    func `finds what the store does, and changes nothing`(
        names: NameMatching, name: String
    ) async throws {
        let provider = provider(names)
        try provider.otherClientWrites(Self.key(name), [1])
        let before = provider.snapshot()
        let isCased = name.utf8.contains { (0x61...0x7A).contains($0 | 0x20) }
        let isForm = name.unicodeScalars.contains { !$0.isASCII }
        let found = await look(at: provider)
        switch names {
        case .exact:
            #expect(found == (!isCased ? nil : isForm ? proven(.exact) : likely(.exact)))
        case .composition:
            let expected = isCased ? proven(.composition) : likely(.composition)
            #expect(found == (isForm ? expected : likely(.exact)))
        case .caseless:
            #expect(found == (isCased ? proven(.caseless) : likely(.composition)))
        }
        #expect(provider.snapshot() == before)
    }

    @Test func `takes a folder for one in another case`() async throws {
        let provider = provider(.caseless)
        try provider.otherClientMakesDirectory(Self.key("Folder"))
        #expect(await look(at: provider) == proven(.caseless))
    }

    @Test func `proves nothing by a folder of which the listing may show two`() async throws {
        let provider = provider(.caseless, pageEntries: 1)
        for name in ["A", "B"] { try provider.otherClientMakesDirectory(Self.key(name)) }
        #expect(await look(at: provider) == nil)
    }

    @Test func `does not take two files for one`() async throws {
        let provider = provider(.exact)
        for name in ["a", "A", "B"] { try provider.otherClientWrites(Self.key(name), [1]) }
        #expect(await look(at: provider) == likely(.exact))
    }

    /// Goal: a failure is not taken for a proof that the store tells names apart.
    @Test func `proves nothing if the root is empty, or the store fails`() async throws {
        let provider = provider(.caseless)
        #expect(await look(at: provider) == nil)
        try provider.otherClientWrites(Self.key("Readme.txt"), [1])
        provider.refuse(.denied, attempts: "stat")
        #expect(await look(at: provider) == nil)
        provider.setReachable(false)
        #expect(await look(at: provider) == nil)
    }

    @Test func `does not keep a mount from starting`() async throws {
        var settings = SimulatedProviderSettings()
        settings.latency = .seconds(3_600)...(.seconds(3_600))
        let provider = SimulatedProvider(
            clock: SystemClock(), random: SeededGenerator(seed: 1), settings: settings)
        try provider.otherClientWrites(Self.key("Readme.txt"), [1])
        let found = await NameProbe(provider).verdict(
            within: .milliseconds(10), on: SystemClock())
        #expect(found == nil)
    }

    // MARK: The use of the look

    /// Returns the names of a mount, and the result of its look if that is kept.
    private func names(
        of provider: SimulatedProvider, known: NameMatching? = nil, stated: NameMatching? = nil,
        looksAgain: Bool = false
    ) async -> (names: NameMatching, found: NameMatching?) {
        let found = Mutex<NameMatching?>(nil)
        var world = ProviderEnvironment(
            clock: SystemClock(), transport: HTTPTransport(), logger: Logger(label: "test"))
        world.logger.logLevel = .critical
        world.knownNames = known
        world.foundNames = { names in found.withLock { $0 = names } }
        let names = await world.names(of: provider, stated: stated, looksAgain: looksAgain)
        return (names, found.withLock { $0 })
    }

    @Test func `is made once, and its result kept`() async throws {
        let provider = provider(.caseless)
        try provider.otherClientWrites(Self.key("Readme.txt"), [1])
        #expect(await names(of: provider) == (.caseless, .caseless))
        #expect(await names(of: provider, known: .exact) == (.exact, nil))
        #expect(
            await names(of: provider, known: .exact, looksAgain: true) == (.caseless, .caseless))
        #expect(
            await names(of: provider, known: .exact, stated: .composition) == (.composition, nil))
    }

    /// Goal: a first look at a root without accented names does not hide for ever that the store takes
    /// names of one composition for one.
    @Test func `that proves nothing is made again`() async throws {
        let provider = provider(.composition)
        try provider.otherClientWrites(Self.key("Readme.txt"), [1])
        #expect(await names(of: provider) == (.exact, nil))
        try provider.otherClientWrites(Self.key("\u{E9}t\u{E9}"), [1])
        #expect(await names(of: provider) == (.composition, .composition))
    }

    /// Goal: a mount during which the look fails does not take two names of one object for two objects.
    @Test func `that fails leaves what is known`() async throws {
        let provider = provider(.caseless)
        try provider.otherClientWrites(Self.key("Readme.txt"), [1])
        provider.setReachable(false)
        #expect(
            await names(of: provider, known: .caseless, looksAgain: true) == (.caseless, nil))
        #expect(await names(of: provider) == (.exact, nil))
    }
}
