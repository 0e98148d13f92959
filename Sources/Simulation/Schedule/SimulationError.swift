/// The reason why a simulated run could not continue.
package struct SimulationError: Error, CustomStringConvertible {
    package enum Kind: Hashable, Sendable {
        /// No job is ready and none sleeps, but the body has not returned: its tasks wait for each
        /// other or for something outside the simulation.
        case deadlock
        /// Another thread made a job ready, so that the run cannot be replayed.
        case strayJob
        /// More jobs ran than in any correct run.
        case endless
    }

    package let kind: Kind
    /// Replays the run up to this point.
    package let seed: UInt64
    package let trace: ExecutionTrace

    package var description: String {
        let reason =
            switch kind {
            case .deadlock: "no job is ready or sleeping"
            case .strayJob: "a job came from another thread"
            case .endless: "the run does not end"
            }
        let steps = trace.lastSteps.map { "\($0.uptime) job \($0.job) of \($0.readyCount) ready" }
        return "seed \(seed), after \(trace.stepCount) steps: \(reason)\n"
            + steps.joined(separator: "\n")
    }
}
