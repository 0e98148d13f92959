import Testing

@testable import Engine

@Suite("Checks of whole files")
struct WholeFileQueueTests {
    private struct Sum: ContentChecksum {
        var value: [UInt8] = []
        var expected: [UInt8] = []
        var isDeclared = false

        mutating func update(_ bytes: UnsafeRawBufferPointer) { value += bytes }
    }

    private let match = Sum(value: [1], expected: [1])
    private let mismatch = Sum(value: [1], expected: [2])
    private let declared = Sum(value: [1], expected: [2], isDeclared: true)
    private let inode = InodeNumber(rawValue: 7)
    private let etag = ETag("e")

    private func check(_ queue: inout WholeFileQueue, _ sum: Sum, _ isSuspicious: Bool) {
        let result = queue.isSuspicious(sum)
        #expect(result == isSuspicious)
    }

    private func add(_ queue: inout WholeFileQueue, _ inode: InodeNumber, _ isNew: Bool) {
        let result = queue.add(inode)
        #expect(result == isNew)
    }

    private func next(
        _ queue: inout WholeFileQueue, at now: Duration, _ expected: WholeFileQueue.Next
    ) {
        let result = queue.next(at: now)
        #expect(result == expected)
    }

    @Test
    func `a lookalike counts once another one was a checksum, and never again once one was not`() {
        var queue = WholeFileQueue()
        check(&queue, mismatch, false)
        check(&queue, match, false)
        check(&queue, mismatch, true)
        queue.accept(mismatch, of: inode, etag)
        #expect(!queue.isWorthwhile(match, of: InodeNumber(rawValue: 8), etag))
        check(&queue, match, false)
        check(&queue, mismatch, false)
        #expect(queue.isWorthwhile(declared, of: InodeNumber(rawValue: 8), etag))
    }

    @Test func `a declared checksum that is wrong is not compared again for this version`() {
        var queue = WholeFileQueue()
        check(&queue, declared, true)
        queue.accept(declared, of: inode, etag)
        #expect(!queue.isWorthwhile(declared, of: inode, etag))
        #expect(queue.isWorthwhile(declared, of: inode, ETag("later")))
        #expect(queue.isWorthwhile(declared, of: InodeNumber(rawValue: 8), etag))
    }

    @Test func `a postponed file does not hold up others, and is checked less and less often`() {
        var queue = WholeFileQueue()
        next(&queue, at: .zero, .idle)
        add(&queue, inode, true)
        add(&queue, inode, false)
        next(&queue, at: .zero, .check(inode))
        queue.postpone(at: .zero) { .max }
        add(&queue, InodeNumber(rawValue: 8), true)
        next(&queue, at: .zero, .check(InodeNumber(rawValue: 8)))
        guard case .wait(let first) = queue.next(at: .zero) else {
            Issue.record("nothing waits")
            return
        }
        next(&queue, at: first, .check(inode))
        queue.postpone(at: first) { .max }
        guard case .wait(let second) = queue.next(at: first) else {
            Issue.record("nothing waits")
            return
        }
        #expect(second - first > first)
    }

    @Test func `the queue is bounded`() {
        var queue = WholeFileQueue()
        for number in 0..<WholeFileQueue.entriesMax {
            add(&queue, InodeNumber(rawValue: Int64(number) + 100), true)
        }
        add(&queue, inode, false)
    }
}
