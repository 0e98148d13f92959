import Engine
import Host
import ProviderFolder
import ProviderSupport
import Simulation
import Testing

@Suite("The look at names that a store takes for one")
struct NameProbeTests {
    private static func key(_ names: String...) -> ObjectKey {
        ObjectKey(names.compactMap { FileName($0) })
    }

    private func provider(_ names: NameMatching) -> SimulatedProvider {
        var settings = SimulatedProviderSettings()
        settings.latency = .zero...(.zero)
        settings.names = names
        settings.tellsNames = false
        return SimulatedProvider(
            clock: SystemClock(), random: SeededGenerator(seed: 1), settings: settings)
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
        let found = await NameProbe(provider).matching()
        switch names {
        case .exact: #expect(found == .exact)
        case .composition: #expect(found == (isForm ? .composition : .exact))
        case .caseless: #expect(found == (isCased ? .caseless : .composition))
        }
        #expect(provider.snapshot() == before)
    }

    @Test func `takes a folder for one in another case`() async throws {
        let provider = provider(.caseless)
        try provider.otherClientMakesDirectory(Self.key("Folder"))
        #expect(await NameProbe(provider).matching() == .caseless)
    }

    @Test func `does not take two files for one`() async throws {
        let provider = provider(.exact)
        for name in ["a", "A", "B"] { try provider.otherClientWrites(Self.key(name), [1]) }
        #expect(await NameProbe(provider).matching() == .exact)
    }

    @Test func `does not keep a mount from starting`() async throws {
        let provider = provider(.caseless)
        #expect(await NameProbe(provider).matching() == .exact)
        provider.setReachable(false)
        #expect(await NameProbe(provider).matching() == .exact)
    }
}
