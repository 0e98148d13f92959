import Simulation
import Testing

/// Runs programs for tests, and tells all about one that fails.
enum Verdict {
    static func expectPass(
        _ program: RandomProgram, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        guard let failure = failure(of: program) else { return }
        let short = Shrinker.shrink(program) { Self.failure(of: $0) != nil }
        let again = Self.failure(of: short, logLines: 80)
        Issue.record(
            """
            \(failure)
            The shortest program that fails, with
            \(again.map { "\($0)" } ?? "nothing the second time: the run does not replay")
            \(short)
            """,
            sourceLocation: sourceLocation)
    }

    private static func failure(of program: RandomProgram, logLines: Int = 0) -> (any Error)? {
        do {
            _ = try AloneRun.perform(program, logLines: logLines)
            return nil
        } catch {
            return error
        }
    }
}
