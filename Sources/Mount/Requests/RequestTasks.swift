import Dispatch
import Synchronization

/// The requests that wait for the network, each a task on the engine's executor.
///
/// At most `slots` of them at a time. It is the one owner of these tasks: stopping cancels them
/// all, and ``drain()`` returns when none is left.
final class RequestTasks: Sendable {
    private let executor: any TaskExecutor
    private let ledger = Mutex(RequestLedger<Task<Void, Never>>())
    private let freeSlots: DispatchSemaphore
    private let running = DispatchGroup()

    init(slots: Int, executor: any TaskExecutor) {
        self.executor = executor
        freeSlots = DispatchSemaphore(value: slots)
    }

    /// Takes a slot, and waits for a free one on the calling thread.
    ///
    /// This is the one place where a FUSE thread may wait for the network. Every ticket is followed
    /// by one ``start(_:_:)``.
    ///
    /// - Returns: nil once ``stop()`` was called.
    func admit() -> RequestTicket? {
        freeSlots.wait()
        guard let ticket = ledger.withLock({ $0.admit() }) else {
            freeSlots.signal()
            return nil
        }
        running.enter()
        return ticket
    }

    /// Runs the work of a ticket; as a cancelled task if the ticket was cancelled meanwhile.
    func start(_ ticket: RequestTicket, _ work: @escaping @Sendable () async -> Void) {
        let task = Task(executorPreference: executor) {
            await work()
            self.finish(ticket)
        }
        if ledger.withLock({ $0.started(ticket, task) }) { task.cancel() }
    }

    /// Cancels the task of a ticket; one that has ended or is not known is fine.
    func cancel(_ ticket: RequestTicket) {
        ledger.withLock { $0.cancel(ticket) }?.cancel()
    }

    /// Cancels all, and admits none from here on.
    func stop() {
        for task in ledger.withLock({ $0.stop() }) { task.cancel() }
    }

    /// Blocks until none is left. After ``stop()``.
    func drain() {
        running.wait()
    }

    private func finish(_ ticket: RequestTicket) {
        ledger.withLock { $0.finished(ticket) }
        freeSlots.signal()
        running.leave()
    }
}
