import Synchronization
import SystemCalls

/// Closes descriptors of idle files whose writes are not synchronised yet, on threads of its own: the
/// `fsync` before may take long, and the callers that need a descriptor hold locks.
final class DescriptorCloser: Sendable {
    private struct State {
        /// The places that are taken.
        var taken = 0
        /// The jobs that are queued or running.
        var jobs = 0
    }

    private static let threads = 2

    private let placesMax: Int
    private let state = Monitor(State())
    private let queue = JobQueue()
    /// Whether there are threads; nil before the first job.
    private let hasThreads = Mutex<Bool?>(nil)

    init(placesMax: Int) {
        self.placesMax = placesMax
    }

    deinit {
        queue.close()
    }

    /// Takes a place for one descriptor.
    ///
    /// - Returns: false if there is none.
    func takePlace() -> Bool {
        state.update(waking: .none) { state in
            guard state.taken < placesMax else { return false }
            state.taken += 1
            return true
        }
    }

    func givePlaceBack() { state.update { $0.taken -= 1 } }

    /// Waits for a place. The caller holds no lock.
    func awaitPlace() {
        state.wait(waking: .none) { $0.taken < placesMax ? () : nil }
    }

    /// Waits until all jobs have ended.
    func awaitEnd() {
        state.wait(waking: .none) { $0.jobs == 0 ? () : nil }
    }

    /// Runs a job, which gives the caller's place back.
    func run(_ job: @escaping @Sendable () -> Void) {
        state.update(waking: .none) { $0.jobs += 1 }
        if start(), queue.append(job) { return }
        // Without threads the caller has to wait, as the system lacks memory.
        job()
        state.update { $0.jobs -= 1 }
    }

    /// Runs the next job, and releases it: its file may be closed with it.
    ///
    /// - Returns: false once the queue is closed.
    private static func runNext(of queue: JobQueue) -> Bool {
        guard let job = queue.takeFirst() else { return false }
        job()
        return true
    }

    private func start() -> Bool {
        hasThreads.withLock { hasThreads in
            if let hasThreads { return hasThreads }
            var started = 0
            for _ in 0..<Self.threads {
                let thread = try? WorkerThread(name: "apus-closer") { [queue, state] in
                    while Self.runNext(of: queue) { state.update { $0.jobs -= 1 } }
                }
                guard let thread else { break }
                queue.addTaker()
                thread.detach()
                started += 1
            }
            hasThreads = started > 0
            return started > 0
        }
    }
}
