import Engine

/// The faults of a run: those of the remote, and whether it can be reached and accepts the
/// credentials.
struct FaultPlan {
    var faults = SimulatedProviderFaults()
    private var isReachable = true
    private var isAuthorized = true
    /// Whether listings were ever stale: then objects may have seemed deleted.
    private(set) var hadStaleListings = false
    /// Whether the local disk ever failed or was full.
    var hadDiskFaults = false
    /// Whether a sync of a content file ever failed, but nothing else on the local disk.
    var hadSyncFaults = false

    /// Applies a step that changes the plan.
    mutating func change(_ step: ProgramStep) {
        switch step {
        case .setFaults(let perMille): faults = .all(Double(perMille) / 1_000)
        case .setFault(let kind, let perMille):
            faults = SimulatedProviderFaults(kind, Double(perMille) / 1_000)
        case .setReachable(let isReachable): self.isReachable = isReachable
        case .setAuthorized(let isAuthorized): self.isAuthorized = isAuthorized
        default: break
        }
        if faults[.staleListing] > 0 { hadStaleListings = true }
    }

    func apply(to provider: SimulatedProvider) {
        provider.setFaults(faults)
        provider.setReachable(isReachable)
        provider.setAuthorized(isAuthorized)
    }

    /// Whether the plan explains a failure.
    func excuses(_ error: EngineError) -> Bool {
        switch error.kind {
        case .unreachable: faults.isAny || !isReachable || hadDiskFaults
        case .denied: !isAuthorized
        // If replies are damaged until the request times out.
        case .failed:
            faults[.damagedRead] > 0 || faults[.shortRead] > 0 || hadDiskFaults || hadSyncFaults
        case .outOfSpace, .damaged: hadDiskFaults
        default: false
        }
    }
}
