import Foundation
import Synchronization
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

    private final class Progress: Sendable {
        let uses = Atomic(0)
        let ended = Atomic(0)
        let overtaken = Mutex<[Int]>([])
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
    ///
    /// Method: a thread takes the turn again as soon as it has given it back, and has it for two
    /// milliseconds. Others that need it have it after a few of its uses.
    @Test func `comes to each, whoever takes it again and again`() {
        let (turn, progress) = (WriterTurn(), Progress())
        let usesMax = 2_000
        Self.onThreads(3) { number in
            if number == 0 {
                while progress.ended.load(ordering: .relaxed) < 2,
                    progress.uses.load(ordering: .relaxed) < usesMax
                {
                    turn.take()
                    let end = ContinuousClock.now + .milliseconds(2)
                    while ContinuousClock.now < end {}
                    progress.uses.add(1, ordering: .relaxed)
                    turn.giveBack()
                }
                return
            }
            for _ in 0..<20 {
                let before = progress.uses.load(ordering: .relaxed)
                turn.take()
                let uses = progress.uses.load(ordering: .relaxed)
                progress.overtaken.withLock { $0.append(uses - before) }
                turn.giveBack()
            }
            progress.ended.add(1, ordering: .relaxed)
        }
        let counts = progress.overtaken.withLock { $0.sorted() }
        #expect(counts.count == 40)
        // On a busy machine a thread may rest before it is in line.
        #expect(counts[counts.count / 2] <= 3, "\(counts)")
    }
}
