/// Why a simulated run could not go on.
package struct SimulationError: Error, CustomStringConvertible {
    package enum Kind: Hashable, Sendable {
        /// Nothing is ready and nobody sleeps, yet the body has not returned: its tasks wait for
        /// each other, or for something outside the simulation.
        case deadlock
        /// Another thread made a job ready, so the run cannot be replayed.
        case strayJob
        /// More jobs ran than any sound run has.
        case endless
    }

    package let kind: Kind
    /// What replays the run up to here.
    package let seed: UInt64
    package let trace: ExecutionTrace

    package var description: String {
        let reason =
            switch kind {
            case .deadlock: "nothing is ready and nobody sleeps"
            case .strayJob: "a job came from another thread"
            case .endless: "the run does not end"
            }
        let steps = trace.lastSteps.map { "\($0.uptime) job \($0.job) of \($0.readyCount) ready" }
        return "seed \(seed), after \(trace.stepCount) steps: \(reason)\n"
            + steps.joined(separator: "\n")
    }
}
