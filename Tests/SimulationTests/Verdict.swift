import Simulation
import Testing

/// Runs programs for tests, and tells all about one that fails.
enum Verdict {
    static func expectPass(
        _ program: RandomProgram, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        do {
            _ = try AloneRun.perform(program, logLines: 0)
        } catch {
            Issue.record(
                "\(error) at step \(String(describing: (error as? ProgramFailure)?.step))\n\(program)",
                sourceLocation: sourceLocation)
        }
    }
}
