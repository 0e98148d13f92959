/// A program of file operations, faults and deaths, drawn from a seed.
package struct RandomProgram: Sendable {
    /// What kinds of steps a program has.
    package struct Style: Hashable, Sendable {
        package var stepCount = 120
        package var hasDeaths = true
        package var hasFaults = true
        package var scenario = Scenario.alone

        package init() {}

        /// Whether another client works on the same remote.
        var isShared: Bool { scenario == .shared }
    }

    /// What kind of world a program runs in, and so what is checked after it.
    package enum Scenario: String, Hashable, Sendable, CaseIterable {
        /// The mount has the remote for itself: see ``AloneRun``.
        case alone
        /// Another client changes the remote at the same time: see ``SharedRun``.
        case shared
        /// The power is cut, and the disk forgets: see ``SharedRun``.
        case powerCut
        /// The local disk fails or is full: see ``SharedRun``.
        case badDisk
    }

    /// What everything that happens in its run comes from, together with the steps.
    package let seed: UInt64
    package let scenario: Scenario
    /// What the remote holds before the first mount.
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

    /// One of all programs there are: the seed decides on its style too.
    ///
    /// - Parameter scenario: nil where the seed decides on that as well.
    package static func drawn(from seed: UInt64, scenario: Scenario? = nil) -> RandomProgram {
        var style = Style()
        style.hasFaults = seed % 4 != 0
        style.hasDeaths = seed % 4 != 1
        let scenarios = Scenario.allCases
        style.scenario = scenario ?? scenarios[Int(seed / 4 % UInt64(scenarios.count))]
        return RandomProgram(seed: seed, style: style)
    }

    /// Runs it from the start to its checks at the end.
    ///
    /// - Parameter logLines: How many lines of the engine's log a failure shows.
    /// - Returns: The way the run took.
    /// - Throws: ``ProgramFailure``; what is not even that comes through as it is.
    @discardableResult
    package func run(logLines: Int = 0) throws -> ExecutionTrace {
        switch scenario {
        case .alone: try AloneRun.perform(self, logLines: logLines).trace
        case .shared, .powerCut, .badDisk: try SharedRun.perform(self, logLines: logLines)
        }
    }
}

extension RandomProgram: CustomStringConvertible {
    package var description: String {
        let lines =
            initialTree.map { "    before: \($0)" }
            + steps.enumerated().map { "    \($0.offset): \($0.element)" }
        return (["seed \(seed), \(scenario), \(steps.count) steps:"] + lines).joined(separator: "\n")
    }
}
