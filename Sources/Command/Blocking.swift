import Foundation

/// Work that waits for the system, on a thread of its own: Swift's pool must not wait.
func onOwnThread<Value: Sendable>(
    _ work: @escaping @Sendable () throws -> Value
) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        let thread = Thread { continuation.resume(with: Result(catching: work)) }
        thread.name = "apus-wait"
        thread.start()
    }
}
