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
        let running = Countdown(count)
        for _ in 0..<count {
            do {
                let thread = try WorkerThread(name: "apus-apply") {
                    body()
                    if running.decrement() { onLast() }
                }
                thread.detach()
            } catch {
                // The other stages could never finish without this thread.
                preconditionFailure("no thread can be started: \(error)")
            }
        }
    }

    private final class Countdown: Sendable {
        private let rest: Atomic<Int>

        init(_ count: Int) {
            rest = Atomic(count)
        }

        /// - Returns: Whether the count reached 0.
        func decrement() -> Bool {
            rest.subtract(1, ordering: .acquiringAndReleasing).newValue == 0
        }
    }
}
