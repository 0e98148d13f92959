import Synchronization
import SystemCalls

/// The threads on which sinks receive bodies.
///
/// At most one job of each transfer is queued or running, so the bound on transfers is the bound
/// here.
final class BodyPool: Sendable {
    /// So many sinks may wait for a disk or a lock without delaying others.
    private static let threadCount = 8

    private let queue = JobQueue()
    private let hasThreads: Bool
    private let waitingBytesMax: Int
    /// The bytes of all bodies that wait for their sinks.
    private let waitingBytes = Atomic<Int>(0)

    /// - Parameter waitingBytesMax: How many bytes of all bodies may wait for their sinks. Each may have
    ///   one chunk all the same.
    init(waitingBytesMax: Int) {
        self.waitingBytesMax = waitingBytesMax
        var count = 0
        for _ in 0..<Self.threadCount {
            guard
                let thread = try? WorkerThread(
                    name: "apus-bodies",
                    body: { [queue] in
                        while let job = queue.takeFirst() { job() }
                    })
            else { break }
            queue.addTaker()
            thread.detach()
            count += 1
        }
        hasThreads = count > 0
    }

    deinit {
        queue.close()
    }

    var hasRoom: Bool { waitingBytes.load(ordering: .relaxed) < waitingBytesMax }

    /// Counts bytes that wait, or, if negative, that wait no longer.
    func noteWaiting(_ change: Int) {
        waitingBytes.add(change, ordering: .relaxed)
    }

    func run(_ job: @escaping @Sendable () -> Void) {
        // Without a thread, for lack of resources, it runs on the caller's.
        if !hasThreads || !queue.append(job) { job() }
    }
}
