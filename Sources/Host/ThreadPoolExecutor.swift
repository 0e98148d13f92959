import Glibc
import Synchronization

/// A fixed number of named threads that run Swift tasks which may block.
///
/// Swift's own pool is as wide as the machine has cores and must never block: two tasks in `fsync`
/// on two cores would stop every other task of the process, the answers to the kernel among them.
/// The engine's asynchronous work (uploads, downloads, refresh) reads and writes content files and
/// SQLite in between its waits for the network, so it runs here, where a thread that waits for the
/// disk holds up nobody but this pool:
///
/// ```swift
/// await withTaskExecutorPreference(pool) { await engine.run() }
/// Task(executorPreference: pool) { ... }
/// ```
///
/// Child tasks and nonisolated asynchronous functions follow the preference, actors without an
/// executor of their own do too. Jobs start in the order of their arrival, whatever their priority.
/// The queue has no bound of its own, as a job cannot be refused: at most one waits per task that
/// is not suspended, so the bound on tasks is the bound here.
package final class ThreadPoolExecutor: TaskExecutor {
    private let queue = JobQueue()
    /// Those not joined yet.
    private let threads = Mutex<[WorkerThread]>([])

    /// Starts the threads. They keep the pool alive until ``shutDown()``.
    ///
    /// - Parameters:
    ///   - name: The threads are called by it and a number (`apus-engine-0`), as `top -H` and
    ///     debuggers show them; the kernel keeps 15 bytes.
    ///   - threadCount: At least 1. As they are there to wait, more than the machine has cores.
    /// - Throws: ``HostError`` if the system has no more threads to give.
    package init(name: String, threadCount: Int) throws(HostError) {
        precondition(threadCount > 0, "a pool without threads runs nothing")
        do {
            for number in 0..<threadCount {
                let thread = try WorkerThread(name: "\(name)-\(number)") { self.work() }
                queue.addTaker()
                threads.withLock { $0.append(thread) }
            }
        } catch {
            shutDown()
            throw HostError(
                attempt: "start \(threadCount) threads", reason: error.reason,
                remedy: "raise the limit on processes (ulimit -u, or TasksMax of the service)")
        }
    }

    private func work() {
        let executor = asUnownedTaskExecutor()
        while let job = queue.takeFirst() {
            job.runSynchronously(on: executor)
        }
    }

    /// Takes a job over, for the cost of a lock. Called by Swift's runtime, from any thread.
    package func enqueue(_ job: consuming ExecutorJob) {
        let unowned = UnownedJob(job)
        // A task that outlives the pool, say one that wakes from a sleep after the shutdown, still
        // has to reach its end: a lost job would leave its callers waiting for ever.
        if !queue.append(unowned) { globalConcurrentExecutor.enqueue(unowned) }
    }

    /// Runs what is queued, and what that queues, then ends the threads; returns once they are gone.
    ///
    /// End the tasks first: one that wakes up later runs on Swift's own pool. Blocks, so call it
    /// from a thread that may, and never from a task on this pool, which would wait for itself.
    package func shutDown() {
        let threads = threads.withLock { threads in
            defer { threads = [] }
            return threads
        }
        precondition(
            !threads.contains { $0.isCurrent }, "a pool's own thread cannot wait for its end")
        queue.close()
        for thread in threads { thread.join() }
    }
}
