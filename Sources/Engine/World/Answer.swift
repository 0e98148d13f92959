import Synchronization

/// The first of several answers, for one who waits for it.
package final class Answer<Value: Sendable, Failure: Error>: Sendable {
    private typealias Outcome = Result<Value, Failure>

    private let state = Mutex<(outcome: Outcome?, waiter: CheckedContinuation<Outcome, Never>?)>(
        (nil, nil))

    package init() {}

    /// Counts only the first time.
    package func give(_ outcome: Result<Value, Failure>) {
        let waiter = state.withLock { state -> CheckedContinuation<Outcome, Never>? in
            guard state.outcome == nil else { return nil }
            state.outcome = outcome
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(returning: outcome)
    }

    /// For one caller, which cancellation does not wake.
    package func wait() async -> Result<Value, Failure> {
        await withCheckedContinuation { continuation in
            let outcome = state.withLock { state in
                if state.outcome == nil { state.waiter = continuation }
                return state.outcome
            }
            if let outcome { continuation.resume(returning: outcome) }
        }
    }
}
