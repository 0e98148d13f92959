/// A program of file operations, faults and deaths, drawn from a seed.
package struct RandomProgram: Sendable {
    /// What kinds of steps a program has.
    package struct Style: Hashable, Sendable {
        package var stepCount = 120
        package var hasDeaths = true
        package var hasFaults = true
        /// Whether another client works on the same remote.
        package var isShared = false

        package init() {}
    }

    /// What everything that happens in its run comes from, together with the steps.
    package let seed: UInt64
    /// What the remote holds before the first mount.
    package var furniture: [OtherClientStep]
    package var steps: [ProgramStep]

    package init(seed: UInt64, furniture: [OtherClientStep] = [], steps: [ProgramStep]) {
        self.seed = seed
        self.furniture = furniture
        self.steps = steps
    }

    package init(seed: UInt64, style: Style) {
        var writer = ProgramWriter(seed: seed, style: style)
        self.seed = seed
        furniture = writer.makeFurniture()
        steps = writer.makeSteps()
    }
}

extension RandomProgram: CustomStringConvertible {
    package var description: String {
        let lines =
            furniture.map { "    before: \($0)" }
            + steps.enumerated().map { "    \($0.offset): \($0.element)" }
        return (["seed \(seed), \(steps.count) steps:"] + lines).joined(separator: "\n")
    }
}
