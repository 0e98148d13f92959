import Engine
import Logging
import ProviderSupport
import Providers
import Synchronization

/// Opens a source. If an earlier mount has found out the store's capabilities, the mount begins without
/// the store while that is out of reach or slow, and connects in the background.
struct SourceOpening: Sendable {
    private let source: Source
    private let environment: ProviderEnvironment
    private let store: Store
    private let findings = Findings()
    /// Work at the end of the current connection, or of the attempt that is under way.
    private let hooks = ShutdownHooks()

    /// How long a mount waits for a store that it can do without.
    private static let patience: Duration = .milliseconds(600)

    /// A source that is open, or opened in the background.
    struct Opened {
        fileprivate let provider: any Provider
        /// false if the mount has waited in vain: programs are not to wait for the remote as well.
        fileprivate let hasAnswered: Bool
        /// Sentences for the user.
        let notes: [String]
        /// See `ProviderEnvironment.foundNames`.
        fileprivate let foundNames: NameMatching?
        fileprivate let known: KnownRemote

        /// Keeps the store's capabilities for later mounts.
        func keep(in store: Store) throws(EngineError) {
            if let foundNames { try store.keep(foundNames) }
            try store.keep(known)
        }
    }

    private final class Findings: Sendable {
        let notes = Mutex<[String]>([])
        let names = Mutex<NameMatching?>(nil)
        let root = Mutex<String?>(nil)
        /// The command that is waited for.
        let awaited = Mutex<String?>(nil)
        let awaitedChanges = Signal()
    }

    /// - Parameter store: Keeps the store's capabilities for later mounts.
    init(
        _ source: Source, _ environment: ProviderEnvironment, store: Store
    ) throws(EngineError) {
        self.source = source
        self.store = store
        var environment = environment
        environment.knownNames = try store.knownNames()
        environment.note = { [findings] note in
            // Later attempts to connect say the same again.
            findings.notes.withLock { if !$0.contains(note) { $0.append(note) } }
        }
        environment.foundNames = { [findings] names in findings.names.withLock { $0 = names } }
        environment.knownRoot = source.root(asIn: try store.knownRemote())
        environment.foundRoot = { [findings] root in findings.root.withLock { $0 = root } }
        environment.waitsFor = { [findings, waitsFor = environment.waitsFor] command in
            findings.awaited.withLock { $0 = command }
            findings.awaitedChanges.notify()
            waitsFor(command)
        }
        environment.atEnd { [hooks] in hooks.runHere() }
        self.environment = environment
    }

    /// Opens the source, and makes the engine: meanwhile, if an earlier mount has found out the store's
    /// capabilities, as it repairs its state then; otherwise once the store has answered. Excludes names
    /// only after both.
    ///
    /// - Parameter make: May be called again if the store has other capabilities by now.
    /// - Throws: `SourceError` if the source cannot be opened, unless it was before and the store is only
    ///   out of reach. Errors of the state's database, and of `make`.
    func open(
        _ make: @escaping @Sendable (any Provider) throws -> Engine
    ) async throws -> (Engine, Opened) {
        let connecting = try connecting()
        async let early = connecting == nil ? nil : onOwnThread { try connecting.map(make) }
        let opened = try await open(connecting)
        var engine = try await early
        if (opened.provider as? ConnectingProvider) !== connecting { engine = nil }
        let started = try engine ?? make(opened.provider)
        try started.exclusionChange.apply()
        if !opened.hasAnswered { started.refreshes.skipFirstLooks() }
        return (started, opened)
    }

    /// Returns a provider that connects at its first use; nil if the store's capabilities are not known.
    private func connecting() throws(EngineError) -> ConnectingProvider? {
        guard let known = try store.knownRemote(), let traits = source.traits(asIn: known) else {
            return nil
        }
        return ConnectingProvider(traits: traits) { [self] () async throws(SourceError) in
            try await connect(asIn: known)
        }
    }

    private func open(_ connecting: ConnectingProvider?) async throws -> Opened {
        let (provider, hasAnswered) = try await provider(connecting)
        return Opened(
            provider: provider, hasAnswered: hasAnswered,
            notes: findings.notes.withLock { $0 },
            foundNames: findings.names.withLock { $0 }, known: known(by: provider))
    }

    /// - Returns: The store's capabilities, and its root as it was last found.
    private func known(by provider: any Provider) -> KnownRemote {
        let root = findings.root.withLock { $0 } ?? environment.knownRoot
        return source.known(by: provider, root: root)
    }

    /// - Returns: Also whether the store has answered by now.
    private func provider(
        _ connecting: ConnectingProvider?
    ) async throws -> (any Provider, hasAnswered: Bool) {
        guard let connecting, let known = try store.knownRemote() else {
            return (try await opened(), true)
        }
        switch await outcome(of: connecting) {
        case .success: return (connecting, true)
        case nil: environment.note("the remote has not answered yet; \(Self.meanwhile)")
        case .failure(let error) where error.isPassing:
            environment.note("\(error.description); \(Self.meanwhile)")
        case .failure(let error):
            let kept = try store.knownRemote()
            guard kept?.isCapable(as: known) == true else {
                return (try await opened(), true)
            }
            throw error
        }
        return (connecting, false)
    }

    private static let meanwhile = """
        local files can be used, and changes are uploaded when it answers
        """

    /// Returns the outcome of the first attempt; nil if it takes longer than ``patience``.
    private func outcome(of provider: ConnectingProvider) async -> Result<Void, SourceError>? {
        await withTaskGroup(of: Result<Void, SourceError>?.self) { group in
            group.addTask {
                do throws(SourceError) {
                    return .success(try await provider.connect())
                } catch {
                    return .failure(error)
                }
            }
            group.addTask {
                await wait()
                return nil
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
    }

    /// Returns after ``patience`` in which no command was waited for: it may be asking the user for a
    /// password.
    private func wait() async {
        let clock = environment.clock
        while !Task.isCancelled {
            let changes = findings.awaitedChanges.notifications
            if findings.awaited.withLock({ $0 }) != nil {
                await findings.awaitedChanges.wait(after: changes)
                continue
            }
            await findings.awaitedChanges.wait(
                after: changes, until: clock.uptime + Self.patience, on: clock)
            if findings.awaitedChanges.notifications == changes { return }
        }
    }

    /// - Throws: Also for a store that has other capabilities by now, since the engine was started with
    ///   those of earlier. They are kept for the next mount.
    private func connect(asIn known: KnownRemote) async throws(SourceError) -> any Provider {
        let provider = try await opened()
        let found = self.known(by: provider)
        try? store.keep(found)
        guard !found.isCapable(as: known) else { return provider }
        await hooks.run()
        throw SourceError(
            .unavailable, "the remote has other capabilities than at the last mount",
            remedy: "unmount it with --now, and mount it again")
    }

    /// Connects. A failed attempt leaves no helper program behind until the end of the process.
    private func opened() async throws(SourceError) -> any Provider {
        var environment = environment
        environment.atEnd = { [hooks] in hooks.add($0) }
        do throws(SourceError) {
            return try await source.connect(environment)
        } catch {
            if (error.cause as? ProviderError)?.kind == .unauthorized {
                environment.secrets.forget()
            }
            await hooks.run()
            throw error
        }
    }
}
