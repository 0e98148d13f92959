import Glibc

/// A first-in, first-out queue of jobs for a pool of threads. It has no bound of its own: a job
/// belongs to a task, so a bound on tasks is the bound here.
///
/// To wake a thread costs more than most jobs. So only one thread is on its way at a time, and a
/// thread that ends its job meanwhile takes the next one itself; each thread that arrives wakes
/// another one if jobs are left. The thread that slept last is woken first, as its memory is still
/// in the processor's cache.
///
/// Jobs of all kinds are closures: a generic queue looks types up at run time, at each step.
package final class JobQueue: Sendable {
    package typealias Job = @Sendable () -> Void

    /// Unless `isWaking`, either no job is waiting or no thread is idle.
    private struct State {
        /// Jobs from `head` on are waiting; those before it have been taken.
        var jobs: [Job] = []
        var head = 0
        var isClosed = false
        /// Threads that still take jobs.
        var takers = 0
        /// Threads that sleep, the last one first to be woken.
        var idle: [Sleeper] = []
        /// Whether a thread was woken and has not looked for a job yet.
        var isWaking = false

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

        /// Returns the thread to be woken, if there is a job for it.
        mutating func takeSleeper() -> Sleeper? {
            guard !isWaking, head < jobs.count, let sleeper = idle.popLast() else { return nil }
            isWaking = true
            return sleeper
        }
    }

    private enum Step {
        case job(Job, waking: Sleeper?)
        case end
        case sleep(Sleeper)
    }

    /// Not a `Mutex`: on Linux, a contended one is handed to a thread that sleeps. Eight threads with many
    /// short jobs would go on at the speed of wake-ups.
    private let state = Monitor(State())

    package init() {}

    /// - Returns: Whether the job was added and will be taken: not if all threads have left.
    package func append(_ job: @escaping Job) -> Bool {
        let (isAdded, sleeper) = state.update(waking: .none) { state -> (Bool, Sleeper?) in
            if state.isClosed && state.takers == 0 { return (false, nil) }
            state.jobs.append(job)
            return (true, state.takeSleeper())
        }
        sleeper?.wake()
        return isAdded
    }

    /// Counts one more thread that calls ``takeFirst()`` until that returns nil.
    package func addTaker() {
        state.update(waking: .none) { $0.takers += 1 }
    }

    /// Waits for a job.
    ///
    /// - Returns: nil once the queue is closed and empty; the thread must not call this again.
    package func takeFirst() -> Job? {
        var sleeper: Sleeper?
        while true {
            switch step(wokenFrom: sleeper) {
            case .job(let job, let next):
                next?.wake()
                return job
            case .end: return nil
            case .sleep(let own):
                own.sleep()
                sleeper = own
            }
        }
    }

    /// - Parameter former: The sleep that the thread was woken from; nil at its first step.
    private func step(wokenFrom former: Sleeper?) -> Step {
        state.update(waking: .none) { state in
            if former != nil { state.isWaking = false }
            if let job = state.popFirst() { return .job(job, waking: state.takeSleeper()) }
            if state.isClosed {
                state.takers -= 1
                return .end
            }
            let sleeper = former ?? Sleeper()
            state.idle.append(sleeper)
            return .sleep(sleeper)
        }
    }

    /// Dismisses the threads once the queue is empty.
    package func close() {
        let idle = state.update(waking: .none) { state in
            state.isClosed = true
            defer { state.idle = [] }
            return state.idle
        }
        for sleeper in idle { sleeper.wake() }
    }
}

/// One thread's sleep, ended by one call of ``wake()``, before or after it begins.
private final class Sleeper: @unchecked Sendable {
    // Sound: a semaphore may be used from any thread. It is on the heap because its address must
    // not change.
    private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

    init() { sem_init(semaphore, 0, 0) }

    deinit {
        sem_destroy(semaphore)
        semaphore.deallocate()
    }

    func sleep() {
        while sem_wait(semaphore) != 0 {}
    }

    func wake() { sem_post(semaphore) }
}
