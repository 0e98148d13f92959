import Engine

/// The cache invalidations not yet sent to the kernel, in order of arrival, without duplicates.
struct InvalidationQueue {
    enum Item: Hashable {
        case name(FileName, parent: InodeNumber)
        case inode(InodeNumber)
    }

    enum Admission: Equatable {
        /// Accepted; the caller must start sending.
        case start
        /// Accepted or already in the queue; sending is under way.
        case queued
        case full
        /// No session is attached, so the kernel caches nothing.
        case closed
    }

    private let itemsMax: Int
    private var items: [Item] = []
    private var waiting: Set<Item> = []
    private var isSending = false
    private var isOpen = false

    init(itemsMax: Int) {
        self.itemsMax = itemsMax
    }

    mutating func open() {
        isOpen = true
    }

    /// Empties the queue and accepts no more items.
    mutating func close() {
        isOpen = false
        items = []
        waiting = []
    }

    mutating func add(_ item: Item) -> Admission {
        guard isOpen else { return .closed }
        guard !waiting.contains(item) else { return .queued }
        guard items.count < itemsMax else { return .full }
        waiting.insert(item)
        items.append(item)
        guard !isSending else { return .queued }
        isSending = true
        return .start
    }

    /// Removes and returns all items, to be sent now; if there are none, sending ends.
    ///
    /// An item of the batch that is added again is also sent again: the kernel may have handled
    /// the first invalidation and refilled its cache.
    mutating func takeBatch() -> [Item] {
        let batch = items
        items = []
        waiting = []
        isSending = !batch.isEmpty
        return batch
    }
}
