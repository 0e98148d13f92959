import Foundation
import Testing

@testable import Engine

@Suite("An eventually fair lock") struct EventuallyFairLockTests {
    /// Runs `body` on several threads at the same time, and returns once all have ended.
    private static func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
        DispatchQueue.concurrentPerform(iterations: count, execute: body)
    }

    private final class Counter: @unchecked Sendable {
        // Sound: used with the lock held only, which is what the test is about.
        var uses = 0
        var users = 0
    }

    @Test func `is held by one thread at a time`() {
        let (lock, counter) = (EventuallyFairLock(), Counter())
        Self.onThreads(8) { _ in
            for _ in 0..<20_000 {
                lock.lock()
                counter.users += 1
                #expect(counter.users == 1)
                counter.uses += 1
                counter.users -= 1
                lock.unlock()
            }
        }
        #expect(counter.uses == 160_000)
    }

    @Test func `is refused while another thread holds it`() {
        let lock = EventuallyFairLock()
        #expect(lock.lockIfFree())
        #expect(!lock.lockIfFree())
        lock.unlock()
        #expect(lock.lockIfFree())
        lock.unlock()
    }

    /// Goal: a create waits for one transaction of a listing that is merged, not for all of them.
    @Test func `is passed to a thread that waits, so that its owner cannot take it again`() {
        let lock = EventuallyFairLock()
        for _ in 0..<20 {
            lock.lock()
            let (isHeld, mayEnd) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
            Thread.detachNewThread {
                lock.lock()
                isHeld.signal()
                mayEnd.wait()
                lock.unlock()
                isHeld.signal()
            }
            while lock.waiting == 0 { sched_yield() }
            // Longer than the time between two passes.
            let end = ContinuousClock.now + .milliseconds(2)
            while ContinuousClock.now < end {}
            lock.unlock()
            let isTakenAgain = lock.lockIfFree()
            #expect(!isTakenAgain)
            if isTakenAgain { lock.unlock() }
            isHeld.wait()
            mayEnd.signal()
            isHeld.wait()
        }
        #expect(lock.lockIfFree(), "it is free in the end")
    }
}
