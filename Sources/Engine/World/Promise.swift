import Synchronization

/// A promise of one result: the first of several outcomes, for one waiting task.
package final class Promise<Value: Sendable, Failure: Error>: Sendable {
    private typealias Outcome = Result<Value, Failure>

    private let state = Mutex<(outcome: Outcome?, waiter: CheckedContinuation<Outcome, Never>?)>(
        (nil, nil))

    package init() {}

    /// Sets the result; only the first call has an effect.
    package func fulfil(_ outcome: Result<Value, Failure>) {
        let waiter = state.withLock { state -> CheckedContinuation<Outcome, Never>? in
            guard state.outcome == nil else { return nil }
            state.outcome = outcome
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(returning: outcome)
    }

    /// Returns the result to a single caller; cancellation does not end the wait.
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
