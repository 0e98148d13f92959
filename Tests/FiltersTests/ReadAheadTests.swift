import Foundation
import Synchronization
import Testing

@testable import Filters

struct ReadAheadTests {
    @Test func `admission is bounded in count and in bytes`() {
        var admission = Admission(countMax: 2, bytesMax: 100)
        #expect(admission.admits(bytes: 60))
        admission.admit(bytes: 60)
        #expect(admission.admits(bytes: 40))
        #expect(!admission.admits(bytes: 41))
        admission.admit(bytes: 10)
        #expect(!admission.admits(bytes: 0))
        admission.release(bytes: 60)
        #expect(admission.admits(bytes: 90))
    }

    @Test func `an element larger than the bound is admitted alone`() {
        var admission = Admission(countMax: 4, bytesMax: 100)
        #expect(admission.admits(bytes: 1000))
        admission.admit(bytes: 1000)
        #expect(!admission.admits(bytes: 1))
    }

    /// Goal: the queue never exceeds its bound, however slow the consumer is.
    ///
    /// Method: one thread fills the queue, this one empties it and checks each time.
    @Test func `a queue never holds more than its bound, and keeps the order`() {
        let queue = BoundedQueue<Int>(countMax: 3, bytesMax: 25)
        ThreadPool.run(1) {
            for number in 0..<200 where queue.reserve(bytes: 10) {
                queue.put(number, reserved: 10)
            }
        } onLast: {
            queue.finish()
        }
        var taken: [Int] = []
        while let number = queue.take() {
            let held = queue.held
            #expect(held.count <= 2 && held.bytes <= 25)
            taken.append(number)
        }
        #expect(taken == Array(0..<200))
    }

    @Test func `cancelling a queue ends all waiting`() {
        let queue = BoundedQueue<Int>(countMax: 1)
        #expect(queue.reserve(bytes: 0))
        let ended = BoundedQueue<Bool>(countMax: 2)
        ThreadPool.run(1) {
            let admitted = queue.reserve(bytes: 0)
            if ended.reserve(bytes: 0) { ended.put(admitted, reserved: 0) }
        } onLast: {
        }
        queue.cancel()
        #expect(ended.take() == false)
        #expect(queue.take() == nil)
    }

    @Test func `progress reckons rate and remaining time`() {
        var progress = BatchProgress()
        #expect(progress.remaining == nil)
        progress.bytesDone = 1000
        progress.bytesFound = 3000
        progress.elapsed = .seconds(2)
        #expect(progress.bytesPerSecond == 500)
        #expect(progress.remaining == nil)
        progress.isWalkComplete = true
        #expect(progress.remaining == .seconds(4))
    }
}
