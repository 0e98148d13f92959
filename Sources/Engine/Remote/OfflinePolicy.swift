import Synchronization

/// Decides how long requests of programs wait for a remote that does not answer.
struct OfflinePolicy: Sendable {
    let configuration: EngineConfiguration
    let clock: any Clock
    let gate: RemoteGate

    /// Returns when a request that has waited since `start` fails. Time out of reach does not count
    /// if requests wait for its end.
    func deadline(since start: Duration) -> Duration {
        guard configuration.offline == .wait else { return start + configuration.requestDeadline }
        let (state, now) = (gate.reachability.withLock { $0 }, clock.uptime)
        let outageEnd = state.isOutOfReach(at: now) ? now : state.outageEnd
        return max(start, outageEnd ?? start) + configuration.requestDeadline
    }

    /// Returns when a request with this failure gives up a lost remote; nil if it waits for longer.
    func patienceEnd(with failure: ProviderError) -> Duration? {
        guard configuration.offline == .fail, failure.kind == .unreachable else { return nil }
        let now = clock.uptime
        return gate.reachability.withLock { $0.patienceEnd(at: now) }
    }

    /// Handles a failure while the remote is lost or out of reach.
    ///
    /// - Returns: Whether the request has waited for the end of an outage, and may be repeated.
    /// - Throws: The failure, if the request must not wait any longer; `.interrupted` if the task is
    ///   cancelled.
    func waitOut(_ failure: ProviderError) async throws(EngineError) -> Bool {
        if let end = patienceEnd(with: failure), end <= clock.uptime { throw EngineError(failure) }
        guard configuration.offline == .wait, failure.kind == .unreachable,
            gate.reachability.withLock({ $0.isOutOfReach(at: clock.uptime) })
        else { return false }
        await gate.awaitReach()
        if Task.isCancelled { throw EngineError(.interrupted, failure.attempt) }
        return true
    }
}
