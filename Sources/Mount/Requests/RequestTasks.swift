import Dispatch
import Synchronization

/// The requests that wait for the network or the disk, each a task.
///
/// Starting one never blocks: a FUSE thread must not wait for the network, because a few threads
/// serve all requests. This is the only owner of the tasks: ``stop()`` cancels them all, and
/// ``drain()`` returns when none is left.
final class RequestTasks: Sendable {
    private let executor: any TaskExecutor
    private let ledger: Mutex<RequestLedger<Task<Void, Never>>>
    private let running = DispatchGroup()

    /// - Parameter countMax: How many may wait at a time; more are refused.
    init(countMax: Int, executor: any TaskExecutor) {
        self.executor = executor
        ledger = Mutex(RequestLedger(countMax: countMax))
    }

    /// Admits a request, or refuses it at once. Every ticket must be followed by one
    /// ``start(_:_:)``.
    func admit() -> RequestAdmission {
        ledger.withLock { ledger in
            let admission = ledger.admit()
            // Under the lock, so that ``drain()`` after ``stop()`` misses none.
            if case .admitted = admission { running.enter() }
            return admission
        }
    }

    /// Runs the work of a ticket, as a cancelled task if the ticket has been cancelled.
    func start(_ ticket: RequestTicket, _ work: @escaping @Sendable () async -> Void) {
        let task = Task(executorPreference: executor) {
            await work()
            self.finish(ticket)
        }
        if ledger.withLock({ $0.started(ticket, task) }) { task.cancel() }
    }

    /// Cancels the task of a ticket; has no effect if it has finished or is unknown.
    func cancel(_ ticket: RequestTicket) {
        ledger.withLock { $0.cancel(ticket) }?.cancel()
    }

    /// Cancels all tasks and admits no more.
    func stop() {
        for task in ledger.withLock({ $0.stop() }) { task.cancel() }
    }

    /// Blocks until no task is left. Call after ``stop()``.
    func drain() {
        running.wait()
    }

    private func finish(_ ticket: RequestTicket) {
        ledger.withLock { $0.finished(ticket) }
        running.leave()
    }
}
