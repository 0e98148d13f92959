import Logging
import Synchronization

/// Whether the remote answered when it was last asked.
package struct Reachability: Hashable, Sendable {
    package var isReachable = true
    /// Whether it answers, and takes our credentials for nothing: then everything rests.
    package var isUnauthorized = false
    /// The store's words, while it does not answer.
    package var reason: String?
    package var since: Timestamp?
    /// ``since`` by the clock that nobody sets.
    var lostAt: Duration?
}

extension RemoteGate {
    var isPaused: Bool { reachability.withLock(\.isUnauthorized) }

    func noteReachable() {
        let before = reachability.withLock { state in
            defer { state = Reachability() }
            // Together with the state, so that the two never tell different things.
            if state.isUnauthorized { agenda.setPaused(false) }
            return state
        }
        guard !before.isReachable else { return }
        logger.info("remote reachable again")
        if before.isUnauthorized { resume() }
        if let lostAt = before.lostAt, clock.uptime - lostAt >= Self.outageMin {
            agenda.hastenUnreachable()
        }
        agenda.changes.ring()
    }

    /// A shorter outage is one request that failed beside others that did not.
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
            pauseBell.ring()
        } else {
            logger.warning("remote unreachable", metadata: ["reason": "\(error.reason)"])
        }
        agenda.changes.ring()
    }

    private func resume() {
        for signal in resumes { signal.ring() }
    }

    /// While the credentials are refused, asks whether they work: at once, as it may be one object
    /// that the store does not let us have, and then now and then.
    func run() async {
        while !Task.isCancelled {
            let rings = pauseBell.rings
            if isPaused { await probe() }
            if isPaused { await waitForCredentials() }
            await pauseBell.wait(after: rings)
        }
    }

    private func waitForCredentials() async {
        logger.error(
            "credentials refused, everything rests until they work",
            metadata: ["reason": "\(reachability.withLock(\.reason) ?? "")"])
        // It was not the fault of any of these.
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
            // It knows who we are; whatever else is wrong, each item says by itself.
            default: noteReachable()
            }
        }
    }

    /// A connection that broke a moment ago is no outage.
    func isOutOfReach(at now: Duration) -> Bool {
        reachability.withLock { state in
            !state.isReachable
                && (state.isUnauthorized
                    || state.lostAt.map { now - $0 >= Self.outageMin / 2 } ?? true)
        }
    }
}
