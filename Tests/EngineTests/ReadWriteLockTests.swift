import Foundation
import Synchronization
import Testing

@testable import Engine

@Suite struct ReadWriteLockTests {
    /// Goal: bytes that arrive without a break keep no local write waiting.
    ///
    /// Method: threads share the lock in turns that overlap, until another one has had it alone.
    @Test func `threads that share it in turns keep none waiting`() {
        let lock = ReadWriteLock()
        let entries = Atomic(0)
        let isDone = Atomic(false)
        let (begun, ended) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        for _ in 0..<2 {
            Thread.detachNewThread {
                while !isDone.load(ordering: .acquiring) {
                    lock.withShared {
                        let own = entries.add(1, ordering: .sequentiallyConsistent).newValue
                        begun.signal()
                        // Until the other one shares it too, which it cannot while one waits.
                        let end = ContinuousClock.now + .milliseconds(50)
                        while entries.load(ordering: .sequentiallyConsistent) == own,
                            ContinuousClock.now < end
                        {}
                    }
                }
                ended.signal()
            }
        }
        begun.wait()
        let hadAlone = DispatchSemaphore(value: 0)
        DispatchQueue.global().async {
            lock.withExclusive {}
            hadAlone.signal()
        }
        #expect(hadAlone.wait(timeout: .now() + 30) == .success)
        isDone.store(true, ordering: .releasing)
        for _ in 0..<2 { ended.wait() }
    }
}
