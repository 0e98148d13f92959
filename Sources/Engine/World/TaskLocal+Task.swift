extension TaskLocal {
    /// Runs `body` in a task with a value; cancellation of the calling task is passed on to it.
    ///
    /// In optimised builds of Swift 6.3, the asynchronous `withValue` may crash in
    /// `swift_task_localValuePush`.
    func withTask<Output: Sendable>(
        _ value: Value, _ body: @escaping @Sendable () async -> Output
    ) async -> Output {
        let executor = withUnsafeCurrentTask { $0?.unownedTaskExecutor?.asTaskExecutor() }
        let task = withValue(value) { Task(executorPreference: executor) { await body() } }
        return await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            task.cancel()
        }
    }
}
