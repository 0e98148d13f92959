import CFolder
import Glibc
import Synchronization

/// A fixed number of threads for blocking calls, so that Swift's cooperative pool never blocks.
///
/// Jobs start in the order of their arrival. The queue has no limit of its own: every job in it
/// belongs to an awaiting task, so a limit on the tasks limits the queue. The threads end once the
/// pool has no reference left and its last job is done.
package final class BlockingPool: Sendable {
    /// The treatment of a cancelled task's job.
    package enum OnCancel: Sendable {
        /// Does not wait for it, even if it is running: its result is dropped. For calls that
        /// change nothing and may hang, as on a dead NFS server.
        case abandon
        /// Drops it if it is queued, waits for it if it is running. For calls that change
        /// something.
        case finish
        /// Runs it regardless. For cleaning up.
        case ignore
    }

    private let core: BlockingPoolCore

    /// - Parameter threads: At least 1; fewer are created if the system refuses more.
    /// - Throws: If the system refuses even the first.
    package init(name: String, threads: Int) throws(SystemError) {
        core = BlockingPoolCore(name: name)
        for index in 0..<threads {
            let code = core.startThread()
            guard code != 0 else { continue }
            if index == 0 { throw SystemError(code) }
            break
        }
    }

    deinit {
        core.stop()
    }

    /// Runs `body` on one of the threads.
    ///
    /// - Returns: Its result; nil if the task was cancelled before.
    package func run<Value: Sendable, Failure: Error>(
        onCancel: OnCancel, _ body: @escaping @Sendable () throws(Failure) -> Value
    ) async -> Result<Value, Failure>? {
        let job = BlockingJob(onCancel: onCancel, body: body)
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                if job.begin(continuation) {
                    core.enqueue(job.perform)
                }
            }
        } onCancel: {
            job.cancel()
        }
    }
}

/// One call in the pool, which resumes its task exactly once.
private final class BlockingJob<Value: Sendable, Failure: Error>: Sendable {
    typealias Answer = Result<Value, Failure>?

    private struct State {
        var body: (@Sendable () throws(Failure) -> Value)?
        var continuation: CheckedContinuation<Answer, Never>?
        var isCancelled = false
    }

    private let onCancel: BlockingPool.OnCancel
    private let state: Mutex<State>

    init(
        onCancel: BlockingPool.OnCancel, body: @escaping @Sendable () throws(Failure) -> Value
    ) {
        self.onCancel = onCancel
        state = Mutex(State(body: body))
    }

    /// - Returns: Whether to queue the job; otherwise its task was resumed already.
    func begin(_ continuation: CheckedContinuation<Answer, Never>) -> Bool {
        let isCancelled = state.withLock { state in
            if !state.isCancelled { state.continuation = continuation }
            return state.isCancelled
        }
        if isCancelled { continuation.resume(returning: nil) }
        return !isCancelled
    }

    func perform() {
        guard let body = state.withLock({ $0.body.take() }) else { return }
        let answer = Result { () throws(Failure) in try body() }
        state.withLock { $0.continuation.take() }?.resume(returning: answer)
    }

    func cancel() {
        let continuation = state.withLock { state -> CheckedContinuation<Answer, Never>? in
            if onCancel == .ignore { return nil }
            state.isCancelled = true
            let isRunning = state.continuation != nil && state.body == nil
            if isRunning && onCancel == .finish { return nil }
            state.body = nil
            return state.continuation.take()
        }
        continuation?.resume(returning: nil)
    }
}

/// The queue and its lock, which the threads keep alive until they end.
private final class BlockingPoolCore: @unchecked Sendable {
    // Sound: `queue`, `next` and `isStopped` are accessed only under `lock`; the two pointers never
    // change and are freed after the last thread has ended.
    private let name: String
    private let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var queue: [@Sendable () -> Void] = []
    private var next = 0
    private var isStopped = false

    init(name: String) {
        self.name = name
        pthread_mutex_init(lock, nil)
        pthread_cond_init(changed, nil)
    }

    deinit {
        pthread_cond_destroy(changed)
        pthread_mutex_destroy(lock)
        changed.deallocate()
        lock.deallocate()
    }

    /// - Returns: 0, or the error number.
    func startThread() -> Int32 {
        var thread = pthread_t()
        let context = Unmanaged.passRetained(self)
        let code = pthread_create(
            &thread, nil,
            { context in
                guard let context else { return nil }
                let core = Unmanaged<BlockingPoolCore>.fromOpaque(context).takeRetainedValue()
                core.work()
                return nil
            }, context.toOpaque())
        guard code == 0 else {
            context.release()
            return code
        }
        pthread_detach(thread)
        return 0
    }

    func enqueue(_ job: @escaping @Sendable () -> Void) {
        pthread_mutex_lock(lock)
        queue.append(job)
        pthread_cond_signal(changed)
        pthread_mutex_unlock(lock)
    }

    func stop() {
        pthread_mutex_lock(lock)
        isStopped = true
        pthread_cond_broadcast(changed)
        pthread_mutex_unlock(lock)
    }

    private func work() {
        folder_name_thread(name)
        while let job = takeJob() {
            job()
        }
    }

    /// Waits for a job; returns nil once the pool has stopped and the queue is empty.
    private func takeJob() -> (@Sendable () -> Void)? {
        pthread_mutex_lock(lock)
        defer { pthread_mutex_unlock(lock) }
        while next == queue.count {
            if isStopped { return nil }
            pthread_cond_wait(changed, lock)
        }
        let job = queue[next]
        next += 1
        dropTakenJobs()
        return job
    }

    /// Removes the completed front of the queue only when it is half of the queue, which keeps this
    /// cheap.
    private func dropTakenJobs() {
        guard next * 2 >= queue.count else { return }
        queue.removeFirst(next)
        next = 0
    }
}
