import Engine
import Synchronization

/// A provider that makes no requests after its process has died.
///
/// A change in flight when the process dies or abandons it may still happen, as the request has
/// been sent. ``waitForRequests()`` waits for its end.
final class CrashingProvider: Provider {
    private let provider: SimulatedProvider
    private let life: SimulatedLife
    private let executor: SeededExecutor
    private let random: Mutex<SeededGenerator>
    private let requests = Mutex<[Int: Task<Void, Never>]>([:])
    private let requestsMade = Mutex(0)

    init(
        _ provider: SimulatedProvider, life: SimulatedLife, executor: SeededExecutor,
        random: SeededGenerator
    ) {
        self.provider = provider
        self.life = life
        self.executor = executor
        self.random = Mutex(random)
    }

    /// Returns when no request is in flight.
    func waitForRequests() async {
        while let request = requests.withLock({ $0.min { $0.key < $1.key } }) {
            await request.value.value
        }
    }

    var traits: ProviderTraits { provider.traits }

    // MARK: Reading

    func entries(of directory: ObjectKey) -> ListingCursor {
        let cursor = provider.entries(of: directory)
        return ListingCursor { () async throws(ProviderError) in
            try self.begin("list \"\(directory)\"")
            return try await cursor.next()
        }
    }

    func stat(_ key: ObjectKey) async throws(ProviderError) -> RemoteObject {
        try begin("stat \"\(key)\"")
        return try await provider.stat(key)
    }

    func read(
        _ key: ObjectKey, range: Range<UInt64>, etag: ETag, into sink: any ByteSink
    ) async throws(ProviderError) {
        try begin("read \"\(key)\"")
        try await provider.read(key, range: range, etag: etag, into: sink)
    }

    func space() async throws(ProviderError) -> StorageSpace? {
        try begin("ask for the free space")
        return try await provider.space()
    }

    func publicLink(to key: ObjectKey) async throws(ProviderError) -> String {
        try begin("make a link to \"\(key)\"")
        return try await provider.publicLink(to: key)
    }

    // MARK: Changes

    func write(
        _ key: ObjectKey, from source: any ByteSource, attributes: ObjectAttributes,
        base: BaseVersion, session: any UploadSession
    ) async throws(ProviderError) -> RemoteObject {
        try await change("write \"\(key)\"") { [provider] () async throws(ProviderError) in
            try await provider.write(
                key, from: source, attributes: attributes, base: base, session: session)
        }
    }

    func abandon(_ token: UploadToken, of key: ObjectKey) async throws(ProviderError) {
        try await change("abandon an upload of \"\(key)\"") {
            [provider] () async throws(ProviderError) in
            try await provider.abandon(token, of: key)
        }
    }

    func createDirectory(
        _ key: ObjectKey, attributes: ObjectAttributes
    ) async throws(ProviderError) -> RemoteObject {
        try await change("create \"\(key)\"") { [provider] () async throws(ProviderError) in
            try await provider.createDirectory(key, attributes: attributes)
        }
    }

    func createSymlink(
        _ key: ObjectKey, target: [UInt8], attributes: ObjectAttributes
    ) async throws(ProviderError) -> RemoteObject {
        try await change("create \"\(key)\"") { [provider] () async throws(ProviderError) in
            try await provider.createSymlink(key, target: target, attributes: attributes)
        }
    }

    func setAttributes(
        _ key: ObjectKey, to attributes: ObjectAttributes, etag: ETag?
    ) async throws(ProviderError) -> RemoteObject {
        try await change("change \"\(key)\"") { [provider] () async throws(ProviderError) in
            try await provider.setAttributes(key, to: attributes, etag: etag)
        }
    }

    func move(
        _ key: ObjectKey, etag: ETag?, to destination: ObjectKey, base: BaseVersion,
        continues: Bool
    ) async throws(ProviderError) -> RemoteObject {
        try await change("move \"\(key)\"") { [provider] () async throws(ProviderError) in
            try await provider.move(
                key, etag: etag, to: destination, base: base, continues: continues)
        }
    }

    func delete(_ key: ObjectKey, kind: FileKind, etag: ETag?) async throws(ProviderError) {
        try await change("delete \"\(key)\"") { [provider] () async throws(ProviderError) in
            try await provider.delete(key, kind: kind, etag: etag)
        }
    }

    // MARK: Helpers

    private func begin(_ attempt: @autoclosure () -> String) throws(ProviderError) {
        do throws(SimulatedLife.Death) {
            try life.step()
        } catch {
            throw ProviderError(.unreachable, attempt: attempt(), reason: "the process is dead")
        }
    }

    private func change<Value: Sendable>(
        _ attempt: String,
        _ call: @escaping @Sendable () async throws(ProviderError) -> Value
    ) async throws(ProviderError) -> Value {
        try begin(attempt)
        let answer = Promise<Value, ProviderError>()
        let number = requestsMade.withLock { made in
            made += 1
            return made
        }
        let request = Task(executorPreference: executor) {
            do throws(ProviderError) {
                answer.fulfil(.success(try await call()))
            } catch {
                answer.fulfil(.failure(error))
            }
            self.requests.withLock { _ = $0.removeValue(forKey: number) }
        }
        requests.withLock { $0[number] = request }
        let goesOn = random.withLock { $0.nextBool() }
        let result = await withTaskCancellationHandler {
            await answer.wait()
        } onCancel: {
            if provider.finishesChanges { return }
            if !goesOn { request.cancel() }
            answer.fulfil(
                .failure(ProviderError(.cancelled, attempt: attempt, reason: "cancelled")))
        }
        return try result.get()
    }
}
