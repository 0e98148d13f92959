import Engine

/// How the remote fares: what fails there, and whether it can be reached at all.
struct FaultPlan {
    var faults = SimulatedProviderFaults()
    private var isReachable = true
    private var isAuthorized = true
    /// Whether listings may have been old at any time: then objects may have seemed to be gone.
    private(set) var hadStaleListings = false

    /// Takes a step that is about the faultPlan.
    mutating func change(_ step: ProgramStep) {
        switch step {
        case .setFaults(let perMille): faults = .all(Double(perMille) / 1_000)
        case .setFault(let kind, let perMille):
            faults = SimulatedProviderFaults(kind, Double(perMille) / 1_000)
        case .setReachable(let isReachable): self.isReachable = isReachable
        case .setAuthorized(let isAuthorized): self.isAuthorized = isAuthorized
        default: break
        }
        if faults.staleListing > 0 { hadStaleListings = true }
    }

    func apply(to provider: SimulatedProvider) {
        provider.setFaults(faults)
        provider.setReachable(isReachable)
        provider.setAuthorized(isAuthorized)
    }

    /// Whether an operation may fail like that because of it.
    func excuses(_ error: EngineError) -> Bool {
        switch error.kind {
        case .unreachable: faults.isAny || !isReachable
        case .denied: !isAuthorized
        // Damaged replies for as long as a request may wait.
        case .failed: faults.damagedRead > 0 || faults.shortRead > 0
        default: false
        }
    }
}
