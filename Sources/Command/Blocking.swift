import Foundation
import SystemCalls

/// Runs blocking work on a thread of its own, as Swift's pool must not block.
///
/// - Parameter name: Of the thread, and of those that `work` starts.
func onOwnThread<Value: Sendable>(
    named name: String = "apus-wait", _ work: @escaping @Sendable () throws -> Value
) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread {
            WorkerThread.nameCurrent(name)
            continuation.resume(with: Result(catching: work))
        }
    }
}
