/// A program of file operations, faults and deaths, drawn from a seed.
package struct RandomProgram: Sendable {
    /// The kinds of steps of a program.
    package struct Style: Hashable, Sendable {
        package var stepCount = 120
        package var hasDeaths = true
        package var hasFaults = true
        package var scenario = Scenario.alone

        package init() {}
    }

    /// The environment of a program, which decides on the checks of its run.
    package enum Scenario: String, Hashable, Sendable, CaseIterable {
        /// The mount is the only client of the remote: see ``ModelJudge``.
        case alone
        /// Another client changes the remote at the same time: see ``LossJudge``.
        case shared
        /// Power cuts lose unsynced data: see ``LossJudge``.
        case powerCut
        /// The local disk fails or is full: see ``LossJudge``.
        case badDisk
        /// As ``shared``, on a remote that takes different names for one: see ``LossJudge``.
        case folding
        /// As ``alone``, with names that stay here: see ``ModelJudge``.
        case excluding

        /// Whether the mount is the only client of the remote.
        var isAlone: Bool { self == .alone || self == .excluding }

        /// The scenario of a seed.
        fileprivate static func drawn(from seed: UInt64) -> Scenario {
            let drawn = [Scenario.alone, .shared, .powerCut, .badDisk][Int(seed / 4 % 4)]
            if drawn == .alone, seed / 1_024 % 4 == 3 { return .excluding }
            return drawn == .shared && seed / 16 % 4 == 3 ? .folding : drawn
        }
    }

    /// The source of all randomness in the run, and of the steps.
    package let seed: UInt64
    package let scenario: Scenario
    /// The remote's contents before the first mount.
    package var initialTree: [OtherClientStep]
    package var steps: [ProgramStep]

    package init(
        seed: UInt64, scenario: Scenario = .alone, initialTree: [OtherClientStep] = [],
        steps: [ProgramStep]
    ) {
        self.seed = seed
        self.scenario = scenario
        self.initialTree = initialTree
        self.steps = steps
    }

    package init(seed: UInt64, style: Style) {
        var writer = ProgramWriter(seed: seed, style: style)
        self.seed = seed
        scenario = style.scenario
        initialTree = writer.makeInitialTree()
        steps = writer.makeSteps()
    }

    /// Draws a program; the seed decides on its style too.
    ///
    /// - Parameter scenario: `nil` if the seed decides on it.
    package static func drawn(from seed: UInt64, scenario: Scenario? = nil) -> RandomProgram {
        var style = Style()
        style.hasFaults = seed % 4 != 0
        style.hasDeaths = seed % 4 != 1
        style.scenario = scenario ?? .drawn(from: seed)
        return RandomProgram(seed: seed, style: style)
    }
}

extension RandomProgram: CustomStringConvertible {
    package var description: String {
        let lines =
            initialTree.map { "    before: \($0)" }
            + steps.enumerated().map { "    \($0.offset): \($0.element)" }
        return (["seed \(seed), \(scenario), \(steps.count) steps:"] + lines).joined(
            separator: "\n")
    }
}
