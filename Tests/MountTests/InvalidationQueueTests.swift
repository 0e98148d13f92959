import Engine
import Testing

@testable import Mount

struct InvalidationQueueTests {
    private var queue = InvalidationQueue(itemsMax: 2)
    private let first = InvalidationQueue.Item.inode(InodeNumber(rawValue: 2))
    private let second = InvalidationQueue.Item.name(FileName("name")!, parent: .root)
    private let third = InvalidationQueue.Item.inode(InodeNumber(rawValue: 3))

    @Test
    mutating func `the first item starts the sender, others wait for it`() {
        queue.open()
        #expect(queue.add(first) == .start)
        #expect(queue.add(second) == .queued)
        #expect(queue.takeBatch() == [first, second])
    }

    @Test
    mutating func `what waits already is not added twice`() {
        queue.open()
        _ = queue.add(first)
        #expect(queue.add(first) == .queued)
        #expect(queue.takeBatch() == [first])
    }

    @Test
    mutating func `what is being sent is sent again if it changes meanwhile`() {
        queue.open()
        _ = queue.add(first)
        _ = queue.takeBatch()
        #expect(queue.add(first) == .queued)
        #expect(queue.takeBatch() == [first])
    }

    @Test
    mutating func `the sender stops when nothing waits, and starts anew`() {
        queue.open()
        _ = queue.add(first)
        _ = queue.takeBatch()
        #expect(queue.takeBatch().isEmpty)
        #expect(queue.add(second) == .start)
    }

    @Test
    mutating func `a full queue says so`() {
        queue.open()
        _ = queue.add(first)
        _ = queue.add(second)
        #expect(queue.add(third) == .full)
        #expect(queue.takeBatch() == [first, second])
        #expect(queue.add(third) == .queued)
    }

    @Test
    mutating func `without a session nothing waits`() {
        #expect(queue.add(first) == .closed)
        queue.open()
        _ = queue.add(first)
        queue.close()
        #expect(queue.takeBatch().isEmpty)
        #expect(queue.add(first) == .closed)
    }
}
