import Engine
import Testing

@testable import Mount

struct InvalidationQueueTests {
    private typealias Item = InvalidationQueue.Item

    private var queue = InvalidationQueue(itemsMax: 3, senders: 2, spares: 1)
    private let file = Item.inode(InodeNumber(rawValue: 2))
    private let name = Item.name(FileName("name")!, parent: .root)
    private let other = Item.name(FileName("other")!, parent: .root)
    private let third = Item.inode(InodeNumber(rawValue: 3))

    @Test
    mutating func `the first item starts a sender, which sends until the queue is empty`() {
        queue.open()
        add(file, expecting: .start(sender: 0))
        next(0, expecting: file)
        add(name, expecting: .start(sender: 1))
        next(0, after: file, expecting: name)
        next(1, expecting: nil)
        next(0, after: name, expecting: nil)
        add(file, expecting: .start(sender: 0))
    }

    @Test
    mutating func `a queued item is not added twice`() {
        queue.open()
        _ = queue.add(file)
        add(file, expecting: .queued)
        next(0, expecting: file)
        next(0, after: file, expecting: nil)
    }

    @Test
    mutating func `an item that is added while it is being sent is sent again`() {
        queue.open()
        _ = queue.add(file)
        next(0, expecting: file)
        add(file, expecting: .queued)
        next(0, after: file, expecting: file)
        next(0, after: file, expecting: nil)
    }

    @Test
    mutating func `a repeat is none once the item has changed again`() {
        queue.open()
        _ = queue.add(file, isRepeat: true)
        next(0, expecting: file)
        expectRepeat(file, true)
        expectRepeat(file, false)
        _ = queue.add(name)
        _ = queue.add(name, isRepeat: true)
        _ = queue.add(other, isRepeat: true)
        _ = queue.add(other)
        expectRepeat(name, false)
        expectRepeat(other, false)
    }

    @Test
    mutating func `a full queue accepts no more items`() {
        queue.open()
        for item in [file, name, other] { _ = queue.add(item) }
        add(third, expecting: .full)
        next(0, expecting: file)
        add(third, expecting: .queued)
    }

    @Test
    mutating func `without a session nothing is queued`() {
        add(file, expecting: .closed)
        queue.open()
        _ = queue.add(file)
        next(0, expecting: file)
        _ = queue.add(name)
        queue.close()
        next(0, after: file, expecting: nil)
        add(file, expecting: .closed)
    }

    /// Goal: a directory whose requests take long in the kernel does not stop the others.
    @Test
    mutating func `names of one directory are sent one after the other, others beside them`() {
        queue.open()
        add(name, expecting: .start(sender: 0))
        next(0, expecting: name)
        add(other, expecting: .queued)
        add(file, expecting: .start(sender: 1))
        next(1, expecting: file)
        next(1, after: file, expecting: nil)
        next(0, after: name, expecting: other)
    }

    @Test
    mutating func `names of a directory wait for requests that wait for the network there`() {
        queue.open()
        let first = begin([.root])
        let second = begin([.root, InodeNumber(rawValue: 2)])
        add(name, expecting: .queued)
        // A later request does not delay them further.
        let later = begin([.root])
        add(third, expecting: .start(sender: 0))
        next(0, expecting: third)
        next(0, after: third, expecting: nil)
        end(first, expecting: nil)
        add(other, expecting: .queued)
        end(second, expecting: 0)
        next(0, expecting: name)
        next(0, after: name, expecting: other)
        next(0, after: other, expecting: nil)
        // Once nothing is left, the directory is as any other.
        add(name, expecting: .queued)
        end(later, expecting: 0)
        next(0, expecting: name)
    }

    @Test
    mutating func `a request that begins to wait in time holds back what is lined up`() {
        queue.open()
        add(name, expecting: .start(sender: 0))
        let request = begin([.root])
        next(0, expecting: nil)
        end(request, expecting: 0)
        next(0, expecting: name)
    }

    /// Goal: directories in which a request waits for the network, one after the other without a pause, do
    /// not stop the invalidations of all others.
    @Test
    mutating func `lanes that may get stuck leave one sender to the others`() {
        queue.open()
        let first = (begin([.root]), begin([third.lane]))
        add(name, expecting: .queued)
        add(third, expecting: .queued)
        let second = (begin([.root]), begin([third.lane]))
        end(first.0, expecting: 0)
        end(first.1, expecting: 1)
        next(0, expecting: name)
        next(1, expecting: nil)
        add(file, expecting: .start(sender: 1))
        next(1, expecting: file)
        next(1, after: file, expecting: nil)
        // The next of such a lane is sent once its request is answered, or the stuck sender is back.
        end(second.1, expecting: 1)
        next(1, expecting: third)
        next(1, after: third, expecting: nil)
        end(second.0, expecting: nil)
        next(0, after: name, expecting: nil)
    }

    /// Goal: also requests that begin to wait during the sending do not stop all invalidations.
    @Test
    mutating func `senders that got stuck are replaced while there are spare ones`() {
        queue.open()
        add(name, expecting: .start(sender: 0))
        next(0, expecting: name)
        add(third, expecting: .start(sender: 1))
        next(1, expecting: third)
        add(file, expecting: .queued)
        let first = begin([.root, third.lane], expecting: 2)
        next(2, expecting: file)
        next(2, after: file, expecting: nil)
        // No more than that, and those that are back are not replaced any more.
        add(file, expecting: .start(sender: 2))
        next(2, expecting: file)
        let second = begin([file.lane])
        add(.inode(InodeNumber(rawValue: 4)), expecting: .queued)
        end(first, expecting: nil)
        next(1, after: third, expecting: .inode(InodeNumber(rawValue: 4)))
        next(0, after: name, expecting: nil)
        next(1, after: .inode(InodeNumber(rawValue: 4)), expecting: nil)
        end(second, expecting: nil)
        next(2, after: file, expecting: nil)
        add(name, expecting: .start(sender: 2))
        add(third, expecting: .start(sender: 1))
        add(file, expecting: .queued)
    }

    private mutating func begin(
        _ inodes: [InodeNumber], expecting expected: Int? = nil,
        at location: SourceLocation = #_sourceLocation
    ) -> InvalidationQueue.Wait {
        let (wait, sender) = queue.begin(waitingAt: inodes)
        #expect(sender == expected, sourceLocation: location)
        return wait
    }

    private mutating func expectRepeat(_ item: Item, _ expected: Bool) {
        let isRepeat = queue.takeRepeat(item)
        #expect(isRepeat == expected)
    }

    private mutating func add(
        _ item: Item, expecting expected: InvalidationQueue.Admission,
        at location: SourceLocation = #_sourceLocation
    ) {
        let admission = queue.add(item)
        #expect(admission == expected, sourceLocation: location)
    }

    private mutating func next(
        _ sender: Int, after last: Item? = nil, expecting expected: Item?,
        at location: SourceLocation = #_sourceLocation
    ) {
        let item = queue.next(for: sender, after: last)
        #expect(item == expected, sourceLocation: location)
    }

    private mutating func end(
        _ wait: InvalidationQueue.Wait, expecting expected: Int?,
        at location: SourceLocation = #_sourceLocation
    ) {
        let sender = queue.end(wait)
        #expect(sender == expected, sourceLocation: location)
    }
}
