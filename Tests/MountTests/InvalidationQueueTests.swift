import Engine
import Testing

@testable import Mount

struct InvalidationQueueTests {
    private var queue = InvalidationQueue(itemsMax: 2)
    private let first = InvalidationQueue.Item.inode(InodeNumber(rawValue: 2))
    private let second = InvalidationQueue.Item.name(FileName("name")!, parent: .root)
    private let third = InvalidationQueue.Item.inode(InodeNumber(rawValue: 3))

    @Test
    mutating func `the first item starts the sender, further items are queued`() {
        queue.open()
        add(first, expecting: .start)
        add(second, expecting: .queued)
        takeBatch(expecting: [first, second])
    }

    @Test
    mutating func `a queued item is not added twice`() {
        queue.open()
        _ = queue.add(first)
        add(first, expecting: .queued)
        takeBatch(expecting: [first])
    }

    @Test
    mutating func `an item that is added while it is being sent is sent again`() {
        queue.open()
        _ = queue.add(first)
        _ = queue.takeBatch()
        add(first, expecting: .queued)
        takeBatch(expecting: [first])
    }

    @Test
    mutating func `the sender stops when the queue is empty, and starts again`() {
        queue.open()
        _ = queue.add(first)
        _ = queue.takeBatch()
        takeBatch(expecting: [])
        add(second, expecting: .start)
    }

    @Test
    mutating func `a full queue accepts no more items`() {
        queue.open()
        _ = queue.add(first)
        _ = queue.add(second)
        add(third, expecting: .full)
        takeBatch(expecting: [first, second])
        add(third, expecting: .queued)
    }

    @Test
    mutating func `without a session nothing is queued`() {
        add(first, expecting: .closed)
        queue.open()
        _ = queue.add(first)
        queue.close()
        takeBatch(expecting: [])
        add(first, expecting: .closed)
    }

    private mutating func add(
        _ item: InvalidationQueue.Item, expecting expected: InvalidationQueue.Admission,
        at location: SourceLocation = #_sourceLocation
    ) {
        let admission = queue.add(item)
        #expect(admission == expected, sourceLocation: location)
    }

    private mutating func takeBatch(
        expecting expected: [InvalidationQueue.Item], at location: SourceLocation = #_sourceLocation
    ) {
        let batch = queue.takeBatch()
        #expect(batch == expected, sourceLocation: location)
    }
}
