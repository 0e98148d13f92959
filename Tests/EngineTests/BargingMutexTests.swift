import Dispatch
import Synchronization
import Testing

@testable import Engine

@Suite struct BargingMutexTests {
    @Test func `one thread at a time changes the value`() {
        let mutex = BargingMutex((inside: 0, count: 0))
        let insideMax = Atomic(0)
        DispatchQueue.concurrentPerform(iterations: 8) { _ in
            for _ in 0..<10_000 {
                mutex.withLock { value in
                    value.inside += 1
                    insideMax.max(value.inside, ordering: .relaxed)
                    value.count += 1
                    value.inside -= 1
                }
            }
        }
        #expect(insideMax.load(ordering: .relaxed) == 1)
        #expect(mutex.withLock { $0.count } == 80_000)
    }

    @Test func `a lock that another thread has is not waited for`() {
        let mutex = BargingMutex(1)
        let (isTaken, isOver) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let ended = DispatchSemaphore(value: 0)
        DispatchQueue.global().async {
            mutex.withLock { _ in
                isTaken.signal()
                isOver.wait()
            }
            ended.signal()
        }
        isTaken.wait()
        #expect(mutex.withLockIfAvailable { $0 } == nil)
        isOver.signal()
        ended.wait()
        #expect(mutex.withLockIfAvailable { $0 } == 1)
    }
}
