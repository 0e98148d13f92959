/// The threads for kinds of work that block, so that none of them takes the threads of another.
///
/// Requests of the kernel and transfers run on the threads of the tasks that call the engine. Without
/// pools, as in simulation, all work does.
package struct WorkPools: Sendable {
    /// Hashes and copies content.
    package var content: (any TaskExecutor)?
    /// Synchronises, removes and evicts content.
    package var upkeep: (any TaskExecutor)?
    /// Ends requests at their deadline, and looks whether the remote can be reached. Does not wait for
    /// the disk.
    package var watch: (any TaskExecutor)?

    package init(
        content: (any TaskExecutor)? = nil, upkeep: (any TaskExecutor)? = nil,
        watch: (any TaskExecutor)? = nil
    ) {
        self.content = content
        self.upkeep = upkeep
        self.watch = watch
    }
}

extension DiscardingTaskGroup {
    /// Adds a task on the threads of a pool, or of the calling task if there is none.
    ///
    /// In optimised builds of Swift 6.3, a preference of nil means Swift's own threads.
    mutating func addTask(
        on pool: (any TaskExecutor)?, _ operation: @escaping @Sendable () async -> Void
    ) {
        if let pool {
            addTask(executorPreference: pool, operation: operation)
        } else {
            addTask(operation: operation)
        }
    }
}
