import Glibc

/// Names the seeds that were running when a broken invariant trapped.
enum CrashReport {
    private static let workersMax = 64
    // sound: each worker writes its own word, and the handler only reads.
    nonisolated(unsafe) private static let seeds: UnsafeMutablePointer<UInt64> = {
        let seeds = UnsafeMutablePointer<UInt64>.allocate(capacity: workersMax)
        seeds.initialize(repeating: 0, count: workersMax)
        for number in [SIGILL, SIGTRAP, SIGSEGV, SIGABRT] { signal(number, handle) }
        return seeds
    }()

    static func note(_ seed: UInt64, worker: Int) {
        if worker < workersMax { seeds[worker] = seed }
    }

    /// Calls only functions that are safe in a signal handler: no allocation, no lock.
    private static let handle: @convention(c) (Int32) -> Void = { number in
        for worker in 0..<workersMax where seeds[worker] != 0 {
            withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 40) { text in
                var value = seeds[worker]
                var position = 39
                text[position] = UInt8(ascii: "\n")
                repeat {
                    position -= 1
                    text[position] = UInt8(ascii: "0") + UInt8(value % 10)
                    value /= 10
                } while value > 0
                write(2, "crashed while running seed ", 27)
                _ = write(
                    2,
                    UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(text)[position...])
                        .baseAddress, 40 - position)
            }
        }
        signal(number, SIG_DFL)
        raise(number)
    }
}
