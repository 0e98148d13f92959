import Engine
import ProviderSupport

/// Runs `change` to its end even if the calling task is cancelled meanwhile, so that nothing is left
/// halfway and the caller learns the outcome. Does not start in a cancelled task.
func finishing<Value: Sendable>(
    _ change: @escaping @Sendable () async throws(ProviderError) -> Value
) async throws(ProviderError) -> Value {
    try throwIfCancelled()
    return try await cleaningUp(change)
}

/// Runs `work` whether or not the calling task is cancelled.
func cleaningUp<Value: Sendable>(
    _ work: @escaping @Sendable () async throws(ProviderError) -> Value
) async throws(ProviderError) -> Value {
    // An unstructured task only because it must not inherit the cancellation; it is awaited here.
    let result = await Task { () -> Result<Value, ProviderError> in
        do throws(ProviderError) {
            return .success(try await work())
        } catch {
            return .failure(error)
        }
    }.value
    return try result.get()
}

func throwIfCancelled() throws(ProviderError) {
    if Task.isCancelled { throw ProviderError(.cancelled, "cancelled") }
}

extension Clock {
    /// - Throws: `.cancelled`.
    func wait(_ duration: Duration) async throws(ProviderError) {
        do {
            try await sleep(until: uptime + duration)
        } catch {
            throw ProviderError(.cancelled, "cancelled")
        }
    }
}
