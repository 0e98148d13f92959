import Logging
import Synchronization

/// Whether the remote answered the last request.
package struct Reachability: Hashable, Sendable {
    package var isReachable = true
    /// Whether the remote answers but rejects our credentials; synchronisation is then paused.
    package var isUnauthorized = false
    /// The store's error text, while it does not answer.
    package var reason: String?
    package var since: Timestamp?
    /// ``since`` by the monotonic clock.
    var lostAt: Duration?
}

/// The only way to the provider: sets deadlines, records whether the remote answers, and pauses
/// synchronisation while it refuses the credentials.
final class RemoteGate: ProviderWrapper {
    let inner: any Provider
    let clock: any Clock
    let logger: Logger
    let random: @Sendable () -> UInt64
    let agenda: Agenda
    /// Notified when the credentials are accepted again.
    let resumes: [Signal]
    let reachability = Mutex<Reachability>(Reachability())
    /// Notified when the remote has refused the credentials.
    let pauseBell = Signal()
    /// Inodes whose request was refused for its credentials and has not been retried.
    let refusals = Mutex<Set<InodeNumber>>([])
    let departure: ShutdownGrace
    private let knownSpace = Mutex<StorageSpace?>(nil)

    init(
        _ provider: any Provider, grace: Duration, clock: any Clock, deadlines: Deadlines,
        logger: Logger, random: @escaping @Sendable () -> UInt64, agenda: Agenda, resumes: [Signal]
    ) {
        self.clock = clock
        self.logger = logger
        self.random = random
        self.agenda = agenda
        self.resumes = resumes
        departure = ShutdownGrace(
            grace: grace, clock: clock, deadlines: deadlines, logger: logger)
        inner = DeadlineProvider(inner: provider, departure: departure)
    }

    func around<Value: Sendable>(
        _ call: ProviderCall,
        _ request: @escaping @Sendable () async throws(ProviderError) -> Value
    ) async throws(ProviderError) -> Value {
        do throws(ProviderError) {
            let value = try await request()
            noteReachable()
            return value
        } catch {
            let error = error.during(call)
            noteFailure(error)
            throw error
        }
    }

    // MARK: Space

    /// The space of the remote; nil if it is not known.
    var remoteSpace: StorageSpace? { knownSpace.withLock { $0 } }

    func refreshSpace() async {
        do throws(ProviderError) {
            let space = try await space()
            knownSpace.withLock { $0 = space }
        } catch {
            // The last known space stays until the remote answers again.
        }
    }

    // MARK: Reachability

    var isPaused: Bool { reachability.withLock(\.isUnauthorized) }

    func noteReachable() {
        let before = reachability.withLock { state in
            defer { state = Reachability() }
            // Under the same lock as the state, so that the two always agree.
            if state.isUnauthorized { agenda.setPaused(false) }
            return state
        }
        guard !before.isReachable else { return }
        logger.info("remote reachable again")
        if before.isUnauthorized {
            for signal in resumes { signal.notify() }
        }
        if let lostAt = before.lostAt, clock.uptime - lostAt >= Self.outageMin {
            agenda.hastenUnreachable()
        }
        agenda.changes.notify()
    }

    /// Shorter outages are single requests that failed beside successful ones.
    private static var outageMin: Duration { .seconds(10) }

    func noteFailure(_ error: ProviderError) {
        let isUnauthorized = error.kind == .unauthorized
        guard isUnauthorized || error.kind == .unreachable else { return }
        let now = clock.wallTime
        let isNew = reachability.withLock { state in
            guard state.isReachable || (isUnauthorized && !state.isUnauthorized) else {
                return false
            }
            state = Reachability(
                isReachable: false, isUnauthorized: isUnauthorized, reason: error.reason,
                since: now, lostAt: state.lostAt ?? clock.uptime)
            if isUnauthorized { agenda.setPaused(true) }
            return true
        }
        guard isNew else { return }
        if isUnauthorized {
            pauseBell.notify()
        } else {
            logger.warning("remote unreachable", metadata: ["reason": "\(error.reason)"])
        }
        agenda.changes.notify()
    }

    /// Probes refused credentials until they are accepted: at once, because the refusal may concern
    /// a single object, then periodically.
    func run() async {
        while !Task.isCancelled {
            let notifications = pauseBell.notifications
            if isPaused { await probe() }
            if isPaused { await waitForCredentials() }
            await pauseBell.wait(after: notifications)
        }
    }

    private func waitForCredentials() async {
        logger.error(
            "credentials refused, synchronisation paused until they are accepted",
            metadata: ["reason": "\(reachability.withLock(\.reason) ?? "")"])
        // These inodes did not cause the refusal.
        refusals.withLock { $0 = [] }
        var backoff = Backoff(first: .seconds(5), longest: .seconds(60))
        while isPaused, !Task.isCancelled {
            try? await clock.sleep(until: clock.uptime + backoff.next(random))
            await probe()
        }
    }

    private func probe() async {
        do throws(ProviderError) {
            _ = try await inner.stat(.root)
            noteReachable()
        } catch {
            switch error.kind {
            case .unauthorized, .unreachable, .busy, .corrupt, .cancelled: break
            // The credentials are accepted; the items report any other fault themselves.
            default: noteReachable()
            }
        }
    }

    /// Whether the remote has been unreachable for some time; a connection that broke a moment ago
    /// is not an outage.
    func isOutOfReach(at now: Duration) -> Bool {
        reachability.withLock { state in
            !state.isReachable
                && (state.isUnauthorized
                    || state.lostAt.map { now - $0 >= Self.outageMin / 2 } ?? true)
        }
    }
}

extension Provider {
    /// Returns the object at a key; nil if there is none.
    func statIfPresent(_ key: ObjectKey) async throws(ProviderError) -> RemoteObject? {
        do throws(ProviderError) {
            return try await stat(key)
        } catch {
            if error.kind == .missing { return nil }
            throw error
        }
    }

    /// Requires the mounted folder to exist on the remote: a store that has lost everything, for
    /// example because a disk is not mounted, has not deleted anything.
    ///
    /// - Throws: `.unreachable` if the root is missing.
    func requireRoot(_ refusal: ProviderError) async throws(ProviderError) {
        guard try await statIfPresent(.root)?.kind == .directory else {
            throw ProviderError(
                .unreachable, attempt: refusal.attempt,
                reason: "the mounted folder is not on the remote", cause: refusal)
        }
    }

    /// Returns whether two etags, either of which may be missing, denote the same version.
    func isSame(_ former: ETag?, as etag: ETag?) -> Bool {
        guard let former, let etag else { return former == etag }
        return isSame(former, as: etag)
    }
}
