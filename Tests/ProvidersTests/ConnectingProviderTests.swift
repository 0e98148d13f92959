import Engine
import ProviderFolder
import ProviderSupport
import Synchronization
import Testing

/// Method: the store is a folder, and each attempt to open it ends when the test says so.
@Suite struct ConnectingProviderTests {
    private final class Attempts: Sendable {
        private let begun = Mutex<[Promise<Void, SourceError>]>([])
        private let signal = Signal()

        func wait() async throws(SourceError) {
            let attempt = Promise<Void, SourceError>()
            begun.withLock { $0.append(attempt) }
            signal.notify()
            try await attempt.wait().get()
        }

        var count: Int { begun.withLock(\.count) }

        /// Ends an attempt once it has begun.
        func end(_ index: Int, _ outcome: Result<Void, SourceError>) async {
            while true {
                let notifications = signal.notifications
                if let attempt = begun.withLock({ $0.count > index ? $0[index] : nil }) {
                    return attempt.fulfil(outcome)
                }
                await signal.wait(after: notifications)
            }
        }
    }

    private let folder: TemporaryFolder
    private let store: FolderProvider
    private let attempts = Attempts()
    private let provider: ConnectingProvider

    init() async throws {
        folder = try TemporaryFolder()
        try folder.write("file", "text")
        store = try await FolderProvider.connect(path: Array(folder.path.utf8))
        provider = ConnectingProvider(traits: store.traits) {
            [attempts, store] () async throws(SourceError) in
            try await attempts.wait()
            return store
        }
    }

    private static func failure(_ kind: ProviderError.Kind) -> Result<Void, SourceError> {
        .failure(
            SourceError(
                .unavailable, "cannot open it", remedy: "start it", cause: ProviderError(kind, "no")
            ))
    }

    private static func names(_ provider: any Provider) async throws -> [String] {
        try await provider.entries(of: .root).next().objects.map(\.name.description)
    }

    @Test func `calls wait for the first attempt`() async throws {
        async let connection: Void = provider.connect()
        async let names = Self.names(provider)
        await attempts.end(0, .success(()))
        try await connection
        #expect(try await names == ["file"])
        #expect(try await provider.stat(.root).kind == .directory)
        #expect(attempts.count == 1)
    }

    @Test(arguments: [
        (ProviderError.Kind.unreachable, ProviderError.Kind.unreachable),
        (.unauthorized, .unauthorized),
        (.missing, .unreachable),
    ])
    func `calls fail after it, until a probe connects`(
        cause: ProviderError.Kind, kind: ProviderError.Kind
    ) async throws {
        async let failed: Void = attempts.end(0, Self.failure(cause))
        let probe = await #expect(throws: ProviderError.self) { try await provider.probe() }
        await failed
        #expect(probe?.kind == kind)
        let call = await #expect(throws: ProviderError.self) { try await provider.stat(.root) }
        #expect(call?.kind == kind)
        #expect(call?.reason == "cannot open it; start it")
        let listing = await #expect(throws: ProviderError.self) { try await Self.names(provider) }
        #expect(listing?.kind == kind)
        #expect(attempts.count == 1, "only probes connect")

        async let connected: Void = attempts.end(1, .success(()))
        try await provider.probe()
        await connected
        #expect(try await Self.names(provider) == ["file"])
        try await provider.probe()
        #expect(attempts.count == 2)
    }

    @Test func `probes at the same time share an attempt, which outlives a cancelled one`()
        async throws
    {
        let first = Task { [provider] in try await provider.probe() }
        async let second: Void = provider.probe()
        first.cancel()
        await #expect(throws: (any Error).self) { try await first.value }
        await attempts.end(0, .success(()))
        try await second
        #expect(attempts.count == 1)
    }

    @Test func `a call before any attempt fails as unreachable`() async throws {
        let error = await #expect(throws: ProviderError.self) { try await provider.stat(.root) }
        #expect(error?.kind == .unreachable)
        #expect(attempts.count == 0)
    }
}
