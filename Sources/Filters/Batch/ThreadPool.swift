import Synchronization
import SystemCalls

/// Threads that may block: image and file work would starve Swift's cooperative pool.
enum ThreadPool {
    /// Runs `body` on `count` new threads.
    ///
    /// - Parameter onLast: Called once, after `body` has returned on all threads.
    static func run(
        _ count: Int, body: @escaping @Sendable () -> Void, onLast: @escaping @Sendable () -> Void
    ) {
        let running = Atomic(count)
        for _ in 0..<count {
            do {
                let thread = try WorkerThread(name: "apus-apply") {
                    body()
                    let left = running.subtract(1, ordering: .acquiringAndReleasing).newValue
                    if left == 0 { onLast() }
                }
                thread.detach()
            } catch {
                // The other stages could never finish without this thread.
                preconditionFailure("no thread can be started: \(error)")
            }
        }
    }
}
