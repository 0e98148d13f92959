import Glibc
import Synchronization
import SystemCalls

/// A fixed number of named threads that run Swift tasks which may block.
///
/// Swift's own pool has one thread per core and must never block: two tasks in `fsync` on two cores
/// would stop every other task of the process, replies to the kernel included. The engine's
/// asynchronous work (uploads, downloads, refresh) reads and writes content files and SQLite between
/// its waits for the network, so it runs here, where waiting for the disk delays only this pool:
///
/// ```swift
/// await withTaskExecutorPreference(pool) { await engine.run() }
/// Task(executorPreference: pool) { ... }
/// ```
///
/// Child tasks, nonisolated asynchronous functions and actors without an executor of their own follow
/// the preference. Jobs start in the order of their arrival, regardless of priority. The queue has no
/// bound of its own, as a job cannot be refused: at most one waits per task that is not suspended,
/// so the bound on tasks is the bound here.
package final class ThreadPoolExecutor: TaskExecutor {
    private let queue = JobQueue()
    /// Threads that are not joined yet.
    private let threads = Mutex<[WorkerThread]>([])

    /// Starts the threads. They keep the pool alive until ``shutDown()``.
    ///
    /// - Parameters:
    ///   - name: The prefix of the threads' names (`apus-transfer-0`), as `top -H` and debuggers show
    ///     them; the kernel keeps 15 bytes.
    ///   - threadCount: At least 1; more than the machine has cores, as the threads mostly wait.
    /// - Throws: ``HostError`` if the system refuses a thread.
    package init(name: String, threadCount: Int) throws(HostError) {
        precondition(threadCount > 0, "a pool needs at least one thread")
        do {
            for number in 0..<threadCount {
                let thread = try WorkerThread(name: "\(name)-\(number)") { self.work() }
                queue.addTaker()
                threads.withLock { $0.append(thread) }
            }
        } catch {
            shutDown()
            throw HostError(
                attempt: "start \(threadCount) threads", reason: "\(error)",
                remedy: "raise the limit on processes (ulimit -u, or TasksMax of the service)")
        }
    }

    private func work() {
        while let job = queue.takeFirst() { job() }
    }

    /// Queues a job, for the cost of a lock and an allocation. Called by Swift's runtime, from any thread.
    package func enqueue(_ job: consuming ExecutorJob) {
        let (unowned, executor) = (UnownedJob(job), asUnownedTaskExecutor())
        // A task that outlives the pool, such as one that wakes from a sleep after the shutdown, still
        // has to end: a lost job would leave its callers waiting forever.
        if !queue.append({ unowned.runSynchronously(on: executor) }) {
            globalConcurrentExecutor.enqueue(unowned)
        }
    }

    /// Runs all queued jobs, and those that they queue, then ends the threads; returns once they are
    /// gone.
    ///
    /// End the tasks first: one that wakes later runs on Swift's own pool. Blocks, so call this from a
    /// thread that may block, and never from a task on this pool, which would wait for itself.
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
