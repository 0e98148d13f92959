/// A program of file operations, faults and deaths, drawn from a seed.
package struct RandomProgram: Sendable {
    /// What kinds of steps a program has.
    package struct Style: Hashable, Sendable {
        package var stepCount = 120
        package var hasDeaths = true
        package var hasFaults = true
        package var flavour = Flavour.alone

        package init() {}

        /// Whether another client works on the same remote.
        var isShared: Bool { flavour == .shared }
    }

    /// What kind of world a program runs in, and so what is checked after it.
    package enum Flavour: String, Hashable, Sendable, CaseIterable {
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
    package let flavour: Flavour
    /// What the remote holds before the first mount.
    package var furniture: [OtherClientStep]
    package var steps: [ProgramStep]

    package init(
        seed: UInt64, flavour: Flavour = .alone, furniture: [OtherClientStep] = [],
        steps: [ProgramStep]
    ) {
        self.seed = seed
        self.flavour = flavour
        self.furniture = furniture
        self.steps = steps
    }

    package init(seed: UInt64, style: Style) {
        var writer = ProgramWriter(seed: seed, style: style)
        self.seed = seed
        flavour = style.flavour
        furniture = writer.makeFurniture()
        steps = writer.makeSteps()
    }

    /// One of all programs there are: the seed decides on its style too.
    ///
    /// - Parameter flavour: nil where the seed decides on that as well.
    package static func drawn(from seed: UInt64, flavour: Flavour? = nil) -> RandomProgram {
        var style = Style()
        style.hasFaults = seed % 4 != 0
        style.hasDeaths = seed % 4 != 1
        let flavours = Flavour.allCases
        style.flavour = flavour ?? flavours[Int(seed / 4 % UInt64(flavours.count))]
        return RandomProgram(seed: seed, style: style)
    }

    /// Runs it from the start to its checks at the end.
    ///
    /// - Parameter logLines: How many lines of the engine's log a failure shows.
    /// - Returns: The way the run took.
    /// - Throws: ``ProgramFailure``; what is not even that comes through as it is.
    @discardableResult
    package func run(logLines: Int = 0) throws -> ExecutionTrace {
        switch flavour {
        case .alone: try AloneRun.perform(self, logLines: logLines).trace
        case .shared, .powerCut, .badDisk: try SharedRun.perform(self, logLines: logLines)
        }
    }
}

extension RandomProgram: CustomStringConvertible {
    package var description: String {
        let lines =
            furniture.map { "    before: \($0)" }
            + steps.enumerated().map { "    \($0.offset): \($0.element)" }
        return (["seed \(seed), \(flavour), \(steps.count) steps:"] + lines).joined(separator: "\n")
    }
}
