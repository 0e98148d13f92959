import Control
import Host

/// The failure of a command: one line on standard error.
struct CommandFailure: Error {
    let problem: Problem

    init(_ problem: Problem) {
        self.problem = problem
    }

    init(what: String, why: String, remedy: String? = nil) {
        problem = Problem(what: what, why: why, remedy: remedy)
    }

    /// - Returns: nil for errors of other libraries.
    init?(_ error: any Error) {
        switch error {
        case let failure as CommandFailure: self = failure
        case let error as ControlError: problem = error.problem
        case let error as StateDirectoryError:
            problem = Problem(what: error.attempt, why: error.reason, remedy: error.remedy)
        default: return nil
        }
    }
}
