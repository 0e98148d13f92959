package import Engine
import Synchronization

/// The controls of a test, and its view of the store.
extension SimulatedProvider {
    /// Replaces the faults of all calls that have not decided yet.
    package func setFaults(_ faults: SimulatedProviderFaults) {
        state.withLock { $0.faults = faults }
    }

    /// Sets whether the store can be reached.
    package func setReachable(_ isReachable: Bool) {
        state.withLock { $0.isReachable = isReachable }
    }

    /// Sets whether every change of a file has its own time. If not, a later change may have the
    /// same time as the version seen now.
    package func setSettlesAtOnce(_ settlesAtOnce: Bool) {
        state.withLock { $0.settlesAtOnce = settlesAtOnce }
    }

    /// Refuses calls from now on.
    ///
    /// - Parameters:
    ///   - kind: `nil` to refuse none.
    ///   - attempts: Only calls whose text contains this.
    ///   - retryAfter: The delay that the refusal asks for.
    ///   - cause: The underlying failure.
    package func refuse(
        _ kind: ProviderError.Kind?, attempts: String = "", retryAfter: Duration? = nil,
        cause: (any Error)? = nil
    ) {
        state.withLock { state in
            state.refusal = kind.map {
                Refusal(kind: $0, attempts: attempts, retryAfter: retryAfter, cause: cause)
            }
        }
    }

    /// The number of calls refused so far.
    package var refusalsGiven: Int { state.withLock(\.refusalsGiven) }

    /// Sets whether `stat` of a missing name finds a file, always the same one.
    package func setHasEveryName(_ hasEveryName: Bool) {
        state.withLock { $0.hasEveryName = hasEveryName }
    }

    /// Sets whether calls are left unanswered. Transfers then end after 30 seconds, as in any
    /// provider.
    ///
    /// - Parameter attempts: Only calls whose text contains this; empty for
    /// all.
    package func stand(_ isStandingStill: Bool, attempts: String = "") {
        state.withLock { $0.standing = isStandingStill ? attempts : nil }
    }

    /// Sets the latency of calls from now on.
    ///
    /// - Parameters:
    ///   - delay: nil for that of the settings.
    ///   - attempts: Only of calls whose text contains this; empty for all.
    package func setDelay(_ delay: Duration?, attempts: String = "") {
        state.withLock { state in state.delay = delay.map { ($0, attempts) } }
    }

    /// Sets whether listings end.
    package func setEndlessPages(_ pages: EndlessPages?) {
        state.withLock { $0.endlessPages = pages }
    }

    /// The number of pages listed after the last one.
    package var endlessPagesGiven: Int { state.withLock { $0.endlessPagesGiven } }

    /// The number of listings begun so far.
    package var listingsGiven: Int { state.withLock { $0.listingsGiven } }

    /// Sets whether the credentials are valid.
    package func setAuthorized(_ isAuthorized: Bool) {
        state.withLock { $0.isAuthorized = isAuthorized }
    }

    /// All contents ever written to the store.
    package func everyContent() -> [SimulatedContent] {
        state.withLock { $0.tree.contents }
    }

    /// All objects except the root.
    package func snapshot() -> [ObjectKey: SimulatedSnapshotEntry] {
        state.withLock { $0.tree.everyNode().mapValues(\.snapshot) }
    }

    /// The attributes of all objects except the root.
    package func attributes() -> [ObjectKey: ObjectAttributes] {
        state.withLock { $0.tree.everyNode().mapValues(\.attributes) }
    }

    /// All versions that `key` ever held, in order, of all clients.
    package func versions(of key: ObjectKey) -> [SimulatedVersion] {
        state.withLock { $0.tree.history[key] ?? [] }
    }

    /// Every key that ever held a file.
    package var everyKey: Set<ObjectKey> {
        state.withLock { Set($0.tree.history.keys) }
    }
}
