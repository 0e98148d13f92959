import Glibc
import Synchronization

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
            start {
                body()
                if running.decrement() { onLast() }
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

    private final class Body: Sendable {
        let run: @Sendable () -> Void

        init(_ run: @escaping @Sendable () -> Void) {
            self.run = run
        }
    }

    private static func start(_ body: @escaping @Sendable () -> Void) {
        let box = Unmanaged.passRetained(Body(body))
        var thread = pthread_t()
        let status = pthread_create(
            &thread, nil,
            { argument in
                guard let argument else { return nil }
                Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run()
                return nil
            }, box.toOpaque())
        // The other stages could never finish without this thread.
        precondition(status == 0, "no thread can be started: \(String(cString: strerror(status)))")
        pthread_detach(thread)
    }
}
