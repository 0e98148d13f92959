import Dispatch
import Foundation

/// A lock for uses of very different length, by many threads.
///
/// While it is free, any running thread may take it: to pass it to one that sleeps makes all others
/// wait until that has been woken, which takes longer than most uses. But once a millisecond, at the
/// end of a use, it is passed to the thread that has waited longest, so that a thread which takes it
/// again and again keeps none waiting.
final class EventuallyFairLock: @unchecked Sendable {
    private final class Waiter {
        let semaphore = DispatchSemaphore(value: 0)
        var isOwner = false
    }

    /// The time between two passes, at least.
    private static let passInterval: UInt64 = 1_000_000

    // Sound: `guardian` guards the others. It is held for some instructions at a time.
    private let guardian = NSLock()
    private var isTaken = false
    /// Those that sleep or are being woken, in the order of their arrival.
    private var waiters: [Waiter] = []
    /// On the clock of `DispatchTime`.
    private var nextPass: UInt64 = 0

    /// The number of threads that wait for it.
    var waiting: Int {
        guardian.lock()
        defer { guardian.unlock() }
        return waiters.count
    }

    func lock() {
        if lockIfFree() { return }
        let waiter = Waiter()
        guardian.lock()
        waiters.append(waiter)
        guardian.unlock()
        while !lockOrWait(waiter) { waiter.semaphore.wait() }
    }

    /// - Returns: false if it is taken.
    func lockIfFree() -> Bool {
        guardian.lock()
        defer { guardian.unlock() }
        if isTaken { return false }
        isTaken = true
        return true
    }

    /// - Returns: Whether a waiter has it; otherwise it is woken later.
    private func lockOrWait(_ waiter: Waiter) -> Bool {
        guardian.lock()
        defer { guardian.unlock() }
        if waiter.isOwner { return true }
        if isTaken { return false }
        isTaken = true
        waiters.removeAll { $0 === waiter }
        return true
    }

    func unlock() {
        guardian.lock()
        let next = waiters.first
        let now = next == nil ? 0 : DispatchTime.now().uptimeNanoseconds
        if let next, now >= nextPass {
            nextPass = now + Self.passInterval
            next.isOwner = true
            waiters.removeFirst()
        } else {
            isTaken = false
        }
        guardian.unlock()
        next?.semaphore.signal()
    }
}
