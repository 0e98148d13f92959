/// A first-in, first-out queue of jobs for a pool of threads. It has no bound of its own: a job
/// belongs to a task, so a bound on tasks is the bound here.
package final class JobQueue<Job: Sendable>: Sendable {
    private struct State {
        /// Jobs from `head` on are waiting; those before it have been taken.
        var jobs: [Job] = []
        var head = 0
        var isClosed = false
        /// Threads that still take jobs.
        var takers = 0

        mutating func popFirst() -> Job? {
            guard head < jobs.count else { return nil }
            let job = jobs[head]
            head += 1
            // Moving the rest only once it is the smaller half keeps the cost of a job constant.
            if head * 2 >= jobs.count {
                jobs.removeFirst(head)
                head = 0
            }
            return job
        }
    }

    private let state = Monitor(State())

    package init() {}

    /// - Returns: Whether the job was added and will be taken: not if all threads have left.
    package func append(_ job: Job) -> Bool {
        state.update(waking: .one) { state in
            if state.isClosed && state.takers == 0 { return false }
            state.jobs.append(job)
            return true
        }
    }

    /// Counts one more thread that calls ``takeFirst()`` until that returns nil.
    package func addTaker() {
        state.update(waking: .none) { $0.takers += 1 }
    }

    /// Waits for a job.
    ///
    /// - Returns: nil once the queue is closed and empty; the thread must not call this again.
    package func takeFirst() -> Job? {
        state.wait(waking: .none) { state -> Job?? in
            if let job = state.popFirst() { return .some(job) }
            guard state.isClosed else { return nil }
            state.takers -= 1
            return .some(nil)
        }
    }

    /// Dismisses the threads once the queue is empty.
    package func close() {
        state.update { $0.isClosed = true }
    }
}
