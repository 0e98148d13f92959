import Engine

/// The faults of a run: those of the remote, and whether it can be reached and accepts the
/// credentials.
struct FaultPlan {
    /// Whether the HTTP client repeats requests, as often as their answers are lost.
    var repeatsRequests = false
    var faults = SimulatedProviderFaults()
    private var isReachable = true
    /// Until when requests may fail after an outage: a probe has to find that the remote is back.
    private var recoveryEnd: Duration = .zero
    /// The longest time from the end of an outage to its discovery.
    static let recoveryMax: Duration = .seconds(5)
    private var isAuthorized = true
    /// Whether listings were ever stale: then objects may have seemed deleted.
    private(set) var hadStaleListings = false
    /// Whether the local disk ever failed or was full.
    var hadDiskFaults = false
    /// Whether a sync of a content file ever failed, but nothing else on the local disk.
    var hadSyncFaults = false

    /// Whether requests may find no remote.
    private var isOutage: Bool { !isReachable || faults.isAny }

    /// Applies a step that changes the plan.
    ///
    /// - Parameter now: The time of the monotonic clock.
    mutating func change(_ step: ProgramStep, at now: Duration) {
        if isOutage { recoveryEnd = now + Self.recoveryMax }
        switch step {
        case .setFaults(let perMille): faults = .all(Double(perMille) / 1_000)
        case .setFault(let kind, let perMille):
            faults = SimulatedProviderFaults(kind, Double(perMille) / 1_000)
        case .setReachable(let isReachable): self.isReachable = isReachable
        case .setAuthorized(let isAuthorized): self.isAuthorized = isAuthorized
        default: break
        }
        if repeatsRequests { faults[.repeated] = faults[.unreachableAfter] }
        if faults[.staleListing] > 0 { hadStaleListings = true }
    }

    func apply(to provider: SimulatedProvider) {
        provider.setFaults(faults)
        provider.setReachable(isReachable)
        provider.setAuthorized(isAuthorized)
    }

    /// Whether the plan explains the failure of a request.
    ///
    /// - Parameter start: When it was made. The plan has not changed since then.
    func excuses(_ error: EngineError, since start: Duration) -> Bool {
        switch error.kind {
        case .unreachable: isOutage || start < recoveryEnd || hadDiskFaults
        case .denied: !isAuthorized
        // If replies are damaged until the request times out.
        case .failed:
            faults[.damagedRead] > 0 || faults[.shortRead] > 0 || hadDiskFaults || hadSyncFaults
        case .outOfSpace, .damaged: hadDiskFaults
        default: false
        }
    }
}
