/// Unlinked inodes whose content waits for the next pass of ``Flusher``.
struct ReapQueue: Sendable {
    /// The maximum number of inodes in memory. The others are found in the database.
    private static let inodesMax = 10_000

    private var inodes: Set<InodeNumber> = []
    private var isOverflowing = false

    var isEmpty: Bool { inodes.isEmpty && !isOverflowing }

    mutating func add(_ inode: InodeNumber) {
        if inodes.count < Self.inodesMax { inodes.insert(inode) } else { isOverflowing = true }
    }

    /// Empties the queue.
    ///
    /// - Returns: Its inodes, ascending, and whether the database has others.
    mutating func take() -> (inodes: [InodeNumber], isOverflowing: Bool) {
        defer { self = ReapQueue() }
        return (inodes.sorted(), isOverflowing)
    }

    /// Adds the inodes of a pass that has failed.
    mutating func putBack(_ taken: (inodes: [InodeNumber], isOverflowing: Bool)) {
        for inode in taken.inodes { add(inode) }
        if taken.isOverflowing { isOverflowing = true }
    }
}
