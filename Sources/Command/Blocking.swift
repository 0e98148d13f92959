import Foundation

/// Runs blocking work on a thread of its own, as Swift's pool must not block.
func onOwnThread<Value: Sendable>(
    _ work: @escaping @Sendable () throws -> Value
) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        let thread = Thread { continuation.resume(with: Result(catching: work)) }
        thread.name = "apus-wait"
        thread.start()
    }
}
