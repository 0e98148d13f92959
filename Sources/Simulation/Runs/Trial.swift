/// Runs a program, and tells all about one that fails.
package enum Trial {
    /// - Parameters:
    ///   - logLines: How many lines of the engine's log the report ends with.
    ///   - patience: How long it may take to look for a shorter program.
    /// - Returns: nil where it passed.
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

    /// Why a program fails, in one line; nil where it passes.
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

    /// Leaving out steps shall not turn one failure into another.
    private static func kind(of failure: any Error) -> String {
        switch failure {
        case let failure as ProgramFailure: failure.kind
        case let error as SimulationError: "\(error.kind)"
        default: "\(type(of: failure))"
        }
    }
}
