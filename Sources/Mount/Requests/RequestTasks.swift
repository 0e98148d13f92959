import Dispatch
import Synchronization

/// The requests that wait for the network, each a task on the engine's executor.
///
/// At most `slots` run at a time. This is the only owner of the tasks: ``stop()`` cancels them all,
/// and ``drain()`` returns when none is left.
final class RequestTasks: Sendable {
    private let executor: any TaskExecutor
    private let ledger = Mutex(RequestLedger<Task<Void, Never>>())
    private let freeSlots: DispatchSemaphore
    private let running = DispatchGroup()

    init(slots: Int, executor: any TaskExecutor) {
        self.executor = executor
        freeSlots = DispatchSemaphore(value: slots)
    }

    /// Takes a slot, blocking the calling thread until one is free.
    ///
    /// This is the only place where a FUSE thread may wait for the network. Every ticket must be
    /// followed by one ``start(_:_:)``.
    ///
    /// - Returns: The ticket, and whether the call had to wait; nil after ``stop()``.
    func admit() -> (ticket: RequestTicket, hasWaited: Bool)? {
        let hasWaited = freeSlots.wait(timeout: .now()) == .timedOut
        if hasWaited { freeSlots.wait() }
        guard let ticket = ledger.withLock({ $0.admit() }) else {
            freeSlots.signal()
            return nil
        }
        running.enter()
        return (ticket, hasWaited)
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
        freeSlots.signal()
        running.leave()
    }
}
