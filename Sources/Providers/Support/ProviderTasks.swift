package import Engine

/// Runs `change` to its end even if the calling task is cancelled meanwhile, so that nothing is left
/// halfway and the caller learns the outcome. Does not start in a cancelled task.
package func finishing<Value: Sendable>(
    _ change: @escaping @Sendable () async throws(ProviderError) -> Value
) async throws(ProviderError) -> Value {
    try throwIfCancelled()
    return try await cleaningUp(change)
}

/// Runs `work` whether or not the calling task is cancelled.
package func cleaningUp<Value: Sendable>(
    _ work: @escaping @Sendable () async throws(ProviderError) -> Value
) async throws(ProviderError) -> Value {
    // An unstructured task only because it must not inherit the cancellation; it is awaited here. It
    // calls the engine back, so it runs on the engine's threads.
    let executor = withUnsafeCurrentTask { $0?.unownedTaskExecutor?.asTaskExecutor() }
    let result = await Task(executorPreference: executor) { () -> Result<Value, ProviderError> in
        do throws(ProviderError) {
            return .success(try await work())
        } catch {
            return .failure(error)
        }
    }.value
    return try result.get()
}

package func throwIfCancelled() throws(ProviderError) {
    if Task.isCancelled { throw ProviderError(.cancelled, "cancelled") }
}

/// Runs `work` for each item, at most `max` at a time, and passes on each result as it comes.
package func concurrently<Item: Sendable, Value: Sendable>(
    _ items: some Sequence<Item>, atMost max: Int,
    _ work: @escaping @Sendable (Item) async throws(ProviderError) -> Value,
    result: (Value) -> Void
) async throws(ProviderError) {
    do {
        try await withThrowingTaskGroup(of: Value.self) { group in
            for (index, item) in items.enumerated() {
                if index >= max, let value = try await group.next() { result(value) }
                group.addTask { try await work(item) }
            }
            for try await value in group { result(value) }
        }
    } catch let error as ProviderError {
        throw error
    } catch {
        throw ProviderError(.cancelled, "cancelled", cause: error)
    }
}

extension Clock {
    /// - Throws: `.cancelled`.
    package func wait(_ duration: Duration) async throws(ProviderError) {
        do {
            try await sleep(until: uptime + duration)
        } catch {
            throw ProviderError(.cancelled, "cancelled")
        }
    }
}
