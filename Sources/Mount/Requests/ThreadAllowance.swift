import Synchronization

/// The number of FUSE threads that may wait for the disk at a time. The others answer requests that need
/// none.
final class ThreadAllowance: Sendable {
    private let free: Mutex<Int>

    init(_ count: Int) {
        free = Mutex(count)
    }

    /// - Returns: Whether the calling thread may wait; then ``leave()`` must follow.
    func enter() -> Bool {
        free.withLock { free in
            guard free > 0 else { return false }
            free -= 1
            return true
        }
    }

    func leave() {
        free.withLock { $0 += 1 }
    }
}
