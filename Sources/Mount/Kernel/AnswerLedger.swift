import Engine

/// Finds answers that an invalidation may have overtaken on the way to the kernel, which would then
/// cache them without limit.
///
/// A request reads the engine's state, then answers, then the kernel enters the answer into its
/// caches. If the state changes after it was read, the invalidation may reach the kernel
///
/// - before the answer: once the answer is sent, ``noteAnswer(_:since:at:)`` returns its contents to be
///   invalidated;
/// - after the answer and before the kernel has entered it: whatever was answered lately is
///   invalidated again a second later, see ``isRecent(_:at:)``.
///
/// A change of an inode that no answer was about needs no invalidation: the kernel does not know it. This is
/// most of what a walk fetches ahead of a program.
///
/// Inodes share slots, which costs needless invalidations at most. Has no clock: time is an argument.
struct AnswerLedger {
    typealias Item = InvalidationQueue.Item

    /// A moment in the order of changes.
    struct Moment: Comparable {
        fileprivate var number: UInt64 = 0

        static func < (left: Self, right: Self) -> Bool { left.number < right.number }
    }

    /// How long after an answer the kernel has certainly entered it into its caches.
    static let entryMax: Duration = .seconds(1)
    private static let slotCount = 4_096

    private struct Slot {
        var changed = Moment()
        /// Of an inode: without changes of its attributes only.
        var contentChanged = Moment()
        var answered: Duration?
    }

    /// The time of the last change. A request takes it before it reads the engine's state.
    private(set) var now = Moment()
    /// By the directories of names.
    private var names = [Slot](repeating: Slot(), count: slotCount)
    private var inodes = [Slot](repeating: Slot(), count: slotCount)
    /// Those that the kernel may know. It may have forgotten some since.
    private var answered: InodeSet = [.root]

    /// Records a change of the engine's state, after it.
    ///
    /// - Returns: Whether the kernel may have cached what was changed.
    @discardableResult
    mutating func noteChange(of item: Item) -> Bool {
        now.number += 1
        switch item {
        case .name(_, let parent): names[Self.slot(parent)].changed = now
        case .inode(let inode):
            inodes[Self.slot(inode)].changed = now
            inodes[Self.slot(inode)].contentChanged = now
        case .attributes(let inode): inodes[Self.slot(inode)].changed = now
        }
        // An answer that is sent and not recorded yet finds this change later.
        return answered.contains(item.lane)
    }

    /// Records an answer, after it was sent.
    ///
    /// - Parameters:
    ///   - items: The parts of it that the kernel may cache.
    ///   - begin: ``now`` before the engine's state was read.
    /// - Returns: The parts that may have changed since: they have to be invalidated.
    mutating func noteAnswer(
        _ items: [Item], since begin: Moment, at time: Duration
    ) -> [Item] {
        for item in items {
            answered.insert(item.lane)
            switch item {
            case .name(_, let parent): names[Self.slot(parent)].answered = time
            case .inode(let inode), .attributes(let inode):
                inodes[Self.slot(inode)].answered = time
            }
        }
        return begin == now ? [] : items.compactMap { changedPart(of: $0, since: begin) }
    }

    /// Whether the kernel may still be entering an answer about an item into its caches.
    func isRecent(_ item: Item, at time: Duration) -> Bool {
        let slot =
            switch item {
            case .name(_, let parent): names[Self.slot(parent)]
            case .inode(let inode), .attributes(let inode): inodes[Self.slot(inode)]
            }
        return slot.answered.map { time - $0 < Self.entryMax } ?? false
    }

    /// Returns the part of an answer's item to be invalidated after changes; nil if it has not changed.
    private func changedPart(of item: Item, since begin: Moment) -> Item? {
        switch item {
        case .name(_, let parent):
            // A change of the whole directory concerns its names too.
            let isChanged =
                names[Self.slot(parent)].changed > begin
                || inodes[Self.slot(parent)].contentChanged > begin
            return isChanged ? item : nil
        case .inode(let inode): return inodes[Self.slot(inode)].contentChanged > begin ? item : nil
        case .attributes(let inode):
            // The kernel may have read bytes since it has the answer, before the inode was known here.
            if inodes[Self.slot(inode)].contentChanged > begin { return .inode(inode) }
            return inodes[Self.slot(inode)].changed > begin ? item : nil
        }
    }

    private static func slot(_ inode: InodeNumber) -> Int {
        Int(truncatingIfNeeded: inode.rawValue) & (slotCount - 1)
    }
}
