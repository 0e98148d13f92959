import Engine

/// Runs a program, and reports a failure in detail.
package enum Trial {
    /// - Parameters:
    ///   - logLines: The number of log lines at the end of the report.
    ///   - patience: The time limit for shortening the program.
    /// - Returns: `nil` if it passed.
    package static func report(
        on program: RandomProgram, logLines: Int = 80, patience: Duration = .seconds(10)
    ) -> String? {
        guard let failure = failure(of: program) else { return nil }
        let kind = kind(of: failure)
        let deadline = ContinuousClock.now + patience
        let short = Shrinker.shrink(program) { shorter in
            guard ContinuousClock.now < deadline else { return false }
            return Self.failure(of: shorter).map { Self.kind(of: $0) } == kind
        }
        let again = Self.failure(of: short, logLines: logLines)
        return """
            \(failure)
            The shortest program found that fails:
            \(short)
            \(again.map { "\($0)" } ?? "It does not fail the second time: the run does not replay.")
            """
    }

    /// Returns the failure of a program in one line, or `nil` if it passes.
    package static func reason(of program: RandomProgram) -> String? {
        failure(of: program).map { "\($0)".split(separator: "\n").first.map(String.init) ?? "" }
    }

    private static func failure(of program: RandomProgram, logLines: Int = 0) -> (any Error)? {
        do {
            try program.run(logLines: logLines)
            return nil
        } catch {
            return error
        }
    }

    /// Distinguishes failures, so that leaving out steps does not turn one into another.
    private static func kind(of failure: any Error) -> String {
        switch failure {
        case let failure as ProgramFailure: failure.kind
        case let error as SimulationError: "\(error.kind)"
        default: "\(type(of: failure))"
        }
    }
}

extension RandomProgram {
    /// Runs the program and its final checks.
    ///
    /// - Parameter logLines: The number of log lines in a failure.
    /// - Returns: The number of operations of disk, database and remote that the last process had
    ///   begun after the steps: the number of points at which it may die.
    /// - Throws: ``ProgramFailure``, or any error of the simulation itself.
    @discardableResult
    package func run(logLines: Int = 0) throws -> Int {
        var settings = SimulatedMountSettings.drawn(from: seed)
        settings.keepsDatabaseOnDisk = scenario == .powerCut || scenario == .badDisk
        if scenario == .folding {
            settings.provider.names = .caseless
            settings.provider.decomposesNames = seed / 64 % 2 == 0
        }
        if scenario == .excluding {
            // A name of programs, and that of an editor's new versions.
            let patterns = try ["b", "draft"].map { try ExclusionPattern($0) }
            settings.engine.exclusions = Exclusions(patterns)
        }
        let mount = try SimulatedMount(seed: seed, settings: settings, logLines: logLines)
        return try mount.explaining {
            var run = ProgramRun(self, on: mount)
            return try await run.perform()
        }
    }
}
