import Synchronization

/// A fixed number of threads for blocking calls, so that Swift's cooperative pool never blocks.
///
/// Jobs start in the order of their arrival. The threads end once the pool has no reference left and
/// its last job is done.
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

    private let queue = JobQueue<@Sendable () -> Void>()

    /// - Parameter threads: At least 1; fewer are created if the system refuses more.
    /// - Throws: If the system refuses even the first.
    package init(name: String, threads: Int) throws(SystemError) {
        for index in 0..<threads {
            do throws(SystemError) {
                let thread = try WorkerThread(name: name) { [queue] in
                    while let job = queue.takeFirst() { job() }
                }
                queue.addTaker()
                thread.detach()
            } catch {
                if index == 0 { throw error }
                break
            }
        }
    }

    deinit {
        queue.close()
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
                // The pool is alive, so its threads still take jobs.
                if job.begin(continuation) { _ = queue.append(job.perform) }
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
