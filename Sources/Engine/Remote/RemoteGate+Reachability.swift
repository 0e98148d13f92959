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

extension RemoteGate {
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
