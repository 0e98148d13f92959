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

    private let queue = JobQueue()

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
        let job = BlockingJob(onCancel: onCancel)
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isBegun = job.begin {
                    let answer = Result { () throws(Failure) in try body() }
                    return { continuation.resume(returning: answer) }
                } drop: {
                    continuation.resume(returning: nil)
                }
                // The pool is alive, so its threads still take jobs.
                if isBegun { _ = queue.append(job.perform) }
            }
        } onCancel: {
            job.cancel()
        }
    }
}

/// One call in the pool, which resumes its task exactly once. It is not generic, but has closures that
/// are: a generic class looks types up at run time, at each step.
private final class BlockingJob: Sendable {
    /// Makes the call.
    ///
    /// - Returns: A closure that resumes the task with the result.
    typealias Call = @Sendable () -> @Sendable () -> Void

    private struct State {
        /// nil once it is running or dropped.
        var call: Call?
        /// Resumes the task without a result; nil if the task does not wait, or not yet.
        var drop: (@Sendable () -> Void)?
        var isCancelled = false
    }

    private let onCancel: BlockingPool.OnCancel
    private let state = Mutex(State())

    init(onCancel: BlockingPool.OnCancel) {
        self.onCancel = onCancel
    }

    /// - Returns: Whether to queue the job; otherwise its task was resumed already.
    func begin(_ call: @escaping Call, drop: @escaping @Sendable () -> Void) -> Bool {
        let isCancelled = state.withLock { state in
            if !state.isCancelled { (state.call, state.drop) = (call, drop) }
            return state.isCancelled
        }
        if isCancelled { drop() }
        return !isCancelled
    }

    func perform() {
        guard let call = state.withLock({ $0.call.take() }) else { return }
        let resume = call()
        if state.withLock({ $0.drop.take() }) != nil { resume() }
    }

    func cancel() {
        let drop = state.withLock { state -> (@Sendable () -> Void)? in
            if onCancel == .ignore { return nil }
            state.isCancelled = true
            let isRunning = state.drop != nil && state.call == nil
            if isRunning && onCancel == .finish { return nil }
            state.call = nil
            return state.drop.take()
        }
        drop?()
    }
}
