import Control

/// Wrong arguments of a mount helper.
struct MountHelperError: Error {
    let problem: Problem

    init(_ what: String, why: String, remedy: String) {
        problem = Problem(what: what, why: why, remedy: remedy)
    }
}
