import Simulation
import Testing

/// Runs programs for tests, and tells all about one that fails.
enum Verdict {
    /// How long it may take to look for a shorter program.
    private static let patience = Duration.seconds(10)

    /// - Returns: Whether it passed.
    @discardableResult
    static func expectPass(
        _ program: RandomProgram, sourceLocation: SourceLocation = #_sourceLocation
    ) -> Bool {
        guard let failure = failure(of: program) else { return true }
        let kind = kind(of: failure)
        let deadline = ContinuousClock.now + patience
        let short = Shrinker.shrink(program) { shorter in
            guard ContinuousClock.now < deadline else { return false }
            return Self.failure(of: shorter).map { Self.kind(of: $0) } == kind
        }
        let again = Self.failure(of: short, logLines: Soak.logLines)
        Issue.record(
            """
            \(failure)
            The shortest program found that fails:
            \(short)
            \(again.map { "\($0)" } ?? "It does not fail the second time: the run does not replay.")
            """,
            sourceLocation: sourceLocation)
        return false
    }

    private static func failure(of program: RandomProgram, logLines: Int = 0) -> (any Error)? {
        do {
            _ = try AloneRun.perform(program, logLines: logLines)
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
