import Engine

/// What the kernel is still to forget, in order of arrival, each thing once.
struct InvalidationQueue {
    enum Item: Hashable {
        case name(FileName, parent: InodeNumber)
        case inode(InodeNumber)
    }

    enum Admission: Equatable {
        /// Accepted; nobody is sending, so the caller sees to it that sending starts.
        case start
        /// Accepted, or waiting already.
        case queued
        case full
        /// There is no session whose kernel could remember anything.
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

    /// Drops what waits and takes nothing more.
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

    /// All that waits, to be sent now; empty means that sending stops.
    ///
    /// What is added from here on is sent again, also if it is in the batch: the kernel may have
    /// been told already, and have learned anew.
    mutating func takeBatch() -> [Item] {
        let batch = items
        items = []
        waiting = []
        isSending = !batch.isEmpty
        return batch
    }
}
