import Testing

@testable import Engine

@Suite("The queue of the synchroniser")
struct SyncQueueTests {
    private let first = InodeNumber(rawValue: 1)
    private let second = InodeNumber(rawValue: 2)

    /// A queue that has seen the end of the database's table.
    private func queue(runningMax: Int = 2) -> SyncQueue {
        var queue = SyncQueue(runningMax: runningMax)
        queue.refill([], limit: 10, at: .zero)
        return queue
    }

    @Test func `starts what is due, the earliest first, up to its bound`() {
        var queue = queue()
        let third = InodeNumber(rawValue: 3)
        queue.enqueue(second, at: .seconds(2))
        queue.enqueue(first, at: .seconds(1))
        queue.enqueue(third, at: .seconds(3))
        #expect(queue.next(at: .zero) == .wait(until: .seconds(1)))
        #expect(queue.next(at: .seconds(5)) == .start(first))
        #expect(queue.next(at: .seconds(5)) == .start(second))
        #expect(queue.next(at: .seconds(5)) == .wait(until: .seconds(15)))
        queue.finish(first, .done, at: .seconds(5))
        #expect(queue.next(at: .seconds(5)) == .start(third))
    }

    @Test func `what somebody else has done is not started, and who waits for it goes on`() {
        var queue = queue(runningMax: 2)
        let (third, fourth) = (InodeNumber(rawValue: 3), InodeNumber(rawValue: 4))
        for inode in [first, second, third, fourth] { queue.enqueue(inode, at: .zero) }
        #expect(queue.next(at: .zero) == .start(first))
        queue.finish(first, .blocked(by: third), at: .zero)
        #expect(queue.next(at: .zero) == .start(second))
        for inode in [second, third] { queue.settle(inode, at: .zero) }
        #expect(queue.next(at: .zero) == .start(first))
        queue.settle(first, at: .zero)
        queue.finish(second, .done, at: .zero)
        #expect(queue.next(at: .zero) == .start(fourth))
        queue.finish(first, .blocked(by: fourth), at: .zero)
        queue.settle(first, at: .zero)
        queue.finish(fourth, .done, at: .zero)
        #expect(queue.next(at: .zero) == .wait(until: nil))
    }

    @Test func `what stands still leaves its place to others, up to a bound`() {
        var queue = queue(runningMax: 2)
        let inodes = (1...30).map(InodeNumber.init(rawValue:))
        for inode in inodes { queue.enqueue(inode, at: .zero) }
        #expect(queue.next(at: .zero) == .start(inodes[0]))
        #expect(queue.next(at: .zero) == .start(inodes[1]))
        #expect(queue.next(at: .zero) == .wait(until: .seconds(10)))
        queue.noteMove(of: inodes[0], at: .seconds(4))
        #expect(queue.next(at: .seconds(10)) == .start(inodes[2]))
        #expect(queue.next(at: .seconds(10)) == .wait(until: .seconds(14)))
        #expect(queue.next(at: .seconds(14)) == .start(inodes[3]))
        // However long nothing comes further.
        var started = 4
        for time in 2...100 {
            while case .start = queue.next(at: .seconds(time * 10)) { started += 1 }
        }
        #expect(started == 2 + SyncQueue.standingMax)
        #expect(queue.next(at: .seconds(1_001)) == .wait(until: nil))
        queue.finish(inodes[0], .done, at: .seconds(1_001))
        #expect(queue.next(at: .seconds(1_001)) == .start(inodes[started]))
    }

    @Test func `what left comes back, although the table is being read then`() throws {
        var queue = SyncQueue(runningMax: 1)
        guard case .refill(_, let limit, _) = queue.next(at: .zero) else {
            Issue.record("the table is not read")
            return
        }
        let page = (1...Int64(limit)).map(InodeNumber.init(rawValue:))
        queue.refill(page, limit: limit, at: .zero)
        #expect(queue.next(at: .zero) == .start(first))
        queue.finish(first, .again(after: .seconds(1)), at: .zero)
        // The rest is done when it is due again; the table then holds nothing but it.
        let later = Duration.seconds(31)
        var isBack = false
        for _ in 0..<(3 * limit) where !isBack {
            switch queue.next(at: later) {
            case .start(let inode):
                isBack = inode == first
                queue.finish(inode, .done, at: later)
            case .refill(let cursor, let limit, _):
                queue.refill(cursor < first ? [first] : [], limit: limit, at: later)
            case .wait:
                Issue.record("it is forgotten")
                return
            }
        }
        #expect(isBack)
    }

    @Test func `a change during its run makes an inode due again`() {
        var queue = queue()
        queue.enqueue(first, at: .zero)
        #expect(queue.next(at: .zero) == .start(first))
        queue.enqueue(first, at: .seconds(1))
        queue.finish(first, .done, at: .zero)
        #expect(queue.next(at: .zero) == .wait(until: .seconds(1)))
        #expect(queue.next(at: .seconds(1)) == .start(first))
    }

    @Test func `each change begins the settle time anew`() {
        var queue = queue()
        queue.enqueue(first, at: .seconds(1))
        queue.enqueue(first, at: .seconds(2))
        #expect(queue.next(at: .seconds(1)) == .wait(until: .seconds(2)))
    }

    @Test func `what waits for another goes on once that is done, however it ended`() {
        for outcome in [SyncQueue.Outcome.done, .again(after: .seconds(60))] {
            var queue = queue()
            queue.enqueue(first, at: .zero)
            #expect(queue.next(at: .zero) == .start(first))
            queue.finish(first, .blocked(by: second), at: .zero)
            #expect(queue.next(at: .zero) == .start(second))
            #expect(queue.next(at: .zero) == .wait(until: nil))
            queue.finish(second, outcome, at: .zero)
            #expect(queue.next(at: .zero) == .start(first))
        }
    }

    @Test func `a failure is tried again after its delay`() {
        var queue = queue()
        queue.enqueue(first, at: .zero)
        #expect(queue.next(at: .zero) == .start(first))
        queue.finish(first, .again(after: .seconds(8)), at: .seconds(1))
        #expect(queue.next(at: .seconds(1)) == .wait(until: .seconds(9)))
        #expect(queue.next(at: .seconds(9)) == .start(first))
    }

    @Test func `what finds no room in the window is read from the database later`() {
        var queue = queue(runningMax: 1)
        for number in 1...Int64(SyncQueue.windowMax + 1) {
            queue.enqueue(InodeNumber(rawValue: number), at: .zero)
        }
        // The last one found no room. A quarter of the window has to be free first.
        for number in 1...Int64(SyncQueue.windowMax / 4) {
            let inode = InodeNumber(rawValue: number)
            #expect(queue.next(at: .zero) == .start(inode))
            queue.finish(inode, .done, at: .zero)
        }
        let rest = InodeNumber(rawValue: Int64(SyncQueue.windowMax + 1))
        var seen: [InodeNumber] = []
        while seen.last != rest, seen.count < SyncQueue.windowMax {
            switch queue.next(at: .zero) {
            case .start(let inode):
                seen.append(inode)
                queue.finish(inode, .done, at: .zero)
            case .refill(_, let limit, _): queue.refill([rest], limit: limit, at: .zero)
            case .wait: Issue.record("it waits although something is pending"); return
            }
        }
        #expect(seen.last == rest)
    }

    @Test func `what is held is read again only where it may have changed`() {
        var queue = SyncQueue(runningMax: 1)
        let start = InodeNumber(rawValue: 0)
        let limit = SyncQueue.windowMax
        #expect(queue.next(at: .zero) == .refill(after: start, limit: limit, includesHeld: true))
        queue.refill([first], limit: limit, at: .zero)
        #expect(queue.next(at: .zero) == .start(first))
        queue.finish(first, .held, at: .zero)
        #expect(queue.next(at: .zero) == .wait(until: nil))
        queue.enqueue(first, at: .seconds(100_000))
        #expect(queue.next(at: .zero) == .wait(until: .seconds(100_000)))
        #expect(queue.next(at: .seconds(100_000)) == .start(first))
        queue.finish(first, .held, at: .seconds(100_000))
        // One that finds no room may be one that is held.
        for number in 1...Int64(limit + 1) {
            queue.enqueue(InodeNumber(rawValue: number), at: .zero)
        }
        var isAskedFor = false
        while case let action = queue.next(at: .zero), !isAskedFor {
            switch action {
            case .start(let inode): queue.finish(inode, .done, at: .zero)
            case .refill(_, let limit, let includesHeld):
                isAskedFor = includesHeld
                queue.refill([], limit: limit, at: .zero)
            case .wait: Issue.record("it was not asked for"); return
            }
        }
    }

    @Test func `those that wait for what is held do not turn in a circle with it`() {
        var queue = queue(runningMax: 1)
        queue.enqueue(first, at: .zero)
        for _ in 0..<2 {
            #expect(queue.next(at: .zero) == .start(first))
            queue.finish(first, .stuck(behind: second), at: .zero)
            if case .start(second) = queue.next(at: .zero) {
                queue.finish(second, .held, at: .zero)
            }
        }
        #expect(queue.next(at: .zero) == .wait(until: .seconds(300)))
        queue.enqueue(second, at: .seconds(1))
        #expect(queue.next(at: .seconds(1)) == .start(second))
        queue.finish(second, .done, at: .seconds(1))
        #expect(queue.next(at: .seconds(1)) == .start(first))
    }

    @Test func `those that wait for one that fails for good keep no others out`() {
        var queue = queue(runningMax: 1)
        let blocker = InodeNumber(rawValue: 100_000)
        let other = InodeNumber(rawValue: 200_000)
        for number in 1...Int64(SyncQueue.windowMax) {
            queue.enqueue(InodeNumber(rawValue: number), at: .zero)
        }
        while case .start(let inode) = queue.next(at: .zero) {
            let outcome: SyncQueue.Outcome =
                inode == blocker ? .again(after: .seconds(300)) : .stuck(behind: blocker)
            queue.finish(inode, outcome, at: .zero)
        }
        queue.enqueue(other, at: .zero)
        #expect(queue.next(at: .zero) == .start(other))
        queue.finish(other, .done, at: .zero)
        // Those that had to leave come back as soon as it succeeds.
        queue.enqueue(blocker, at: .seconds(1))
        var started: [InodeNumber] = []
        var isRead = false
        while !isRead {
            switch queue.next(at: .seconds(1)) {
            case .start(let inode):
                started.append(inode)
                queue.finish(inode, .done, at: .seconds(1))
            case .refill: isRead = true
            case .wait: Issue.record("they stay away"); return
            }
        }
        #expect(started.first == blocker)
    }
}
