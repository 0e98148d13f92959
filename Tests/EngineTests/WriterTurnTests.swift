import Foundation
import Testing

@testable import Engine

@Suite("The turn at the database's writer") struct WriterTurnTests {
    /// Runs `body` on several threads at the same time, and returns once all have ended.
    private static func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
        DispatchQueue.concurrentPerform(iterations: count, execute: body)
    }

    private final class Counter: @unchecked Sendable {
        // Sound: used by the owner of the turn only, which is what the test is about.
        var uses = 0
        var users = 0
    }

    @Test func `is had by one thread at a time`() {
        let (turn, counter) = (WriterTurn(), Counter())
        Self.onThreads(8) { _ in
            for _ in 0..<20_000 {
                turn.take()
                counter.users += 1
                #expect(counter.users == 1)
                counter.uses += 1
                counter.users -= 1
                turn.giveBack()
            }
        }
        #expect(counter.uses == 160_000)
    }

    @Test func `is refused while another thread has it`() {
        let turn = WriterTurn()
        #expect(turn.takeIfFree())
        #expect(!turn.takeIfFree())
        turn.giveBack()
        #expect(turn.takeIfFree())
        turn.giveBack()
    }

    /// Goal: a create waits for one transaction of a listing that is merged, not for all of them.
    @Test func `is passed to a thread that waits, so that its owner cannot take it again`() {
        let turn = WriterTurn()
        for _ in 0..<20 {
            turn.take()
            let (isHad, mayEnd) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
            Thread.detachNewThread {
                turn.take()
                isHad.signal()
                mayEnd.wait()
                turn.giveBack()
                isHad.signal()
            }
            while turn.waiting == 0 { sched_yield() }
            // Longer than the time between two passes.
            let end = ContinuousClock.now + .milliseconds(2)
            while ContinuousClock.now < end {}
            turn.giveBack()
            let isTakenAgain = turn.takeIfFree()
            #expect(!isTakenAgain)
            if isTakenAgain { turn.giveBack() }
            isHad.wait()
            mayEnd.signal()
            isHad.wait()
        }
        #expect(turn.takeIfFree(), "it is free in the end")
    }
}
