import Glibc

/// First in, first out, between the threads that add jobs and those that wait for one.
///
/// Sound as `@unchecked Sendable`: `state` is touched only with `mutex` held, and the two POSIX
/// objects are made for any thread. They live on the heap because their address must not change.
/// Swift's own `Mutex` has no condition to wait for.
final class JobQueue: @unchecked Sendable {
    private struct State {
        /// Jobs from `head` on are waiting; those before it are done with.
        var jobs: [UnownedJob] = []
        var head = 0
        var isClosed = false
        /// Threads that have not left yet.
        var takers = 0

        mutating func popFirst() -> UnownedJob? {
            guard head < jobs.count else { return nil }
            let job = jobs[head]
            head += 1
            // Moving the rest to the front only when it is the smaller half keeps the cost of a job
            // constant.
            if head * 2 >= jobs.count {
                jobs.removeFirst(head)
                head = 0
            }
            return job
        }
    }

    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var state = State()

    init() {
        mutex.initialize(to: pthread_mutex_t())
        changed.initialize(to: pthread_cond_t())
        let results = (pthread_mutex_init(mutex, nil), pthread_cond_init(changed, nil))
        precondition(results == (0, 0), "with default attributes, glibc has no way to fail")
    }

    deinit {
        pthread_cond_destroy(changed)
        pthread_mutex_destroy(mutex)
        changed.deallocate()
        mutex.deallocate()
    }

    /// - Returns: Whether a thread will take the job; else it was not added.
    func append(_ job: UnownedJob) -> Bool {
        let isTaken = withLock { state in
            if state.isClosed && state.takers == 0 { return false }
            state.jobs.append(job)
            return true
        }
        if isTaken { pthread_cond_signal(changed) }
        return isTaken
    }

    /// Counts one more thread that calls ``takeFirst()`` until there is nothing left to take.
    func addTaker() {
        withLock { $0.takers += 1 }
    }

    /// Waits for a job.
    ///
    /// - Returns: nil when the queue is closed and empty; the caller must not come back.
    func takeFirst() -> UnownedJob? {
        // Not through ``withLock(_:)``: its access to the state would last through the wait, in which
        // others change it, and the optimiser takes an exclusive access at its word.
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while true {
            if let job = state.popFirst() { return job }
            if state.isClosed {
                state.takers -= 1
                return nil
            }
            pthread_cond_wait(changed, mutex)
        }
    }

    /// Lets the takers go once the queue is empty.
    func close() {
        withLock { $0.isClosed = true }
        pthread_cond_broadcast(changed)
    }

    private func withLock<Result>(_ body: (inout State) -> Result) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body(&state)
    }
}
