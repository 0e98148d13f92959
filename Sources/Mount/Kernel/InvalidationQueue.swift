import Engine

/// The cache invalidations not yet sent to the kernel, without duplicates.
///
/// The kernel carries out an invalidation only after the requests that hold the same lock: of a
/// name, those in its directory; of an inode, those that read its bytes. So there is one lane for
/// each directory or inode, sent by one thread at a time. A lane whose requests wait for the network
/// is held back until these are answered. If later requests wait there by then, it is sent nevertheless
/// and may get stuck until they are answered; one thread is kept for lanes in which no request waits. If a
/// request begins to wait during the sending and may get that thread stuck, a spare one takes its place.
struct InvalidationQueue {
    enum Item: Hashable {
        case name(FileName, parent: InodeNumber)
        case inode(InodeNumber)
        case attributes(InodeNumber)

        /// The inode whose requests the kernel waits for.
        var lane: InodeNumber {
            switch self {
            case .name(_, let parent): parent
            case .inode(let inode), .attributes(let inode): inode
            }
        }
    }

    enum Admission: Equatable {
        /// Accepted; the caller must start this sender.
        case start(sender: Int)
        /// Accepted or already in the queue.
        case queued
        case full
        /// No session is attached, so the kernel caches nothing.
        case closed
    }

    /// A request that waits for the network.
    struct Wait: Hashable {
        fileprivate let number: UInt64
        fileprivate let inodes: [InodeNumber]
    }

    private struct Lane {
        var items = Fifo<Item>()
        /// The waiting requests at the time of the first item that was held back.
        var behind: Set<UInt64> = []
        var isSending = false
        /// Whether it was held back already: later requests do not hold it back again.
        var wasHeld = false
        /// Whether a waiting request had it locked when its sending began.
        var mayBeStuck = false
        /// Whether a request began to wait there since, so that a spare sender stands in.
        var isReplaced = false
    }

    private let itemsMax: Int
    private var lanes: [InodeNumber: Lane] = [:]
    /// The lanes to be sent next.
    private var ready = Fifo<InodeNumber>()
    private var queued: Set<Item> = []
    /// Those that have been sent before, and are sent a second time: see ``AnswerLedger``.
    private var repeats: Set<Item> = []
    private var idleSenders: [Int]
    private var runningSenders = 0
    /// The senders at a time, besides those that are replaced.
    private let sendersMax: Int
    private var replacedSenders = 0
    /// The senders that were sent to lanes where they may be stuck, and how many may be at a time.
    private var stuckSenders = 0
    private let stuckSendersMax: Int
    private var waits: [InodeNumber: Set<UInt64>] = [:]
    private var nextWait: UInt64 = 0
    private var isOpen = false

    /// - Parameter spares: Further senders, which stand in for those that got stuck.
    init(itemsMax: Int, senders: Int, spares: Int) {
        self.itemsMax = itemsMax
        sendersMax = senders
        idleSenders = Array((0..<senders + spares).reversed())
        stuckSendersMax = max(1, senders - 1)
    }

    mutating func open() {
        isOpen = true
    }

    /// Empties the queue and accepts no more items.
    mutating func close() {
        isOpen = false
        ready = Fifo()
        queued = []
        repeats = []
        lanes = lanes.filter(\.value.isSending).mapValues { lane in
            Lane(isSending: true, mayBeStuck: lane.mayBeStuck, isReplaced: lane.isReplaced)
        }
    }

    /// - Parameter isRepeat: Whether it was sent before, and has not changed since.
    mutating func add(_ item: Item, isRepeat: Bool = false) -> Admission {
        guard isOpen else { return .closed }
        if !isRepeat { repeats.remove(item) }
        guard !queued.contains(item) else { return .queued }
        guard queued.count < itemsMax else { return .full }
        queued.insert(item)
        if isRepeat { repeats.insert(item) }
        lanes[item.lane, default: Lane()].items.append(item)
        if lanes[item.lane]?.items.count == 1 { line(up: item.lane) }
        return startedSender.map { .start(sender: $0) } ?? .queued
    }

    /// Returns the item that a sender sends next; nil if there is none, and the sender ends.
    ///
    /// An item that is added again while it is sent is also sent again: the kernel may have handled
    /// the first invalidation and refilled its cache.
    ///
    /// - Parameter last: The item that this sender has sent before.
    mutating func next(for sender: Int, after last: Item?) -> Item? {
        if let lane = last?.lane { endSending(lane) }
        var blocked: [InodeNumber] = []
        defer { for lane in blocked { ready.append(lane) } }
        while let lane = ready.popFirst() {
            if isHeldBack(lane) { continue }
            let mayBeStuck = waits[lane] != nil
            if mayBeStuck, stuckSenders == stuckSendersMax {
                blocked.append(lane)
                continue
            }
            guard let item = lanes[lane]?.items.popFirst() else { continue }
            lanes[lane]?.isSending = true
            lanes[lane]?.mayBeStuck = mayBeStuck
            if mayBeStuck { stuckSenders += 1 }
            queued.remove(item)
            return item
        }
        idleSenders.append(sender)
        runningSenders -= 1
        return nil
    }

    private mutating func endSending(_ lane: InodeNumber) {
        if lanes[lane]?.mayBeStuck == true { stuckSenders -= 1 }
        if lanes[lane]?.isReplaced == true { replacedSenders -= 1 }
        lanes[lane]?.isSending = false
        lanes[lane]?.mayBeStuck = false
        lanes[lane]?.isReplaced = false
        if lanes[lane]?.items.isEmpty == true { lanes[lane] = nil } else { line(up: lane) }
    }

    /// Returns whether an item that was sent just now was a repeat.
    mutating func takeRepeat(_ item: Item) -> Bool { repeats.remove(item) != nil }

    // MARK: Requests that wait for the network

    /// Records that a request with locks on these inodes waits for the network.
    ///
    /// - Returns: The wait, and a sender that the caller must start.
    mutating func begin(waitingAt inodes: [InodeNumber]) -> (wait: Wait, sender: Int?) {
        nextWait += 1
        let replacedBefore = replacedSenders
        for inode in inodes {
            waits[inode, default: []].insert(nextWait)
            guard let lane = lanes[inode], lane.isSending, !lane.mayBeStuck, !lane.isReplaced else {
                continue
            }
            lanes[inode]?.isReplaced = true
            replacedSenders += 1
        }
        let wait = Wait(number: nextWait, inodes: inodes)
        return (wait, replacedSenders > replacedBefore ? startedSender : nil)
    }

    /// Records that a waiting request is answered.
    ///
    /// - Returns: A sender that the caller must start.
    mutating func end(_ wait: Wait) -> Int? {
        for inode in wait.inodes {
            waits[inode]?.remove(wait.number)
            if waits[inode]?.isEmpty == true { waits[inode] = nil }
            guard lanes[inode]?.behind.remove(wait.number) != nil else { continue }
            if lanes[inode]?.behind.isEmpty == true { ready.append(inode) }
        }
        return startedSender
    }

    // MARK: Lanes

    private mutating func line(up lane: InodeNumber) {
        guard lanes[lane]?.isSending == false, !isHeldBack(lane) else { return }
        ready.append(lane)
    }

    private mutating func isHeldBack(_ inode: InodeNumber) -> Bool {
        guard let lane = lanes[inode], !lane.wasHeld, let waiting = waits[inode] else {
            return false
        }
        lanes[inode]?.behind = waiting
        lanes[inode]?.wasHeld = true
        return true
    }

    /// A sender that is needed and not running yet.
    private var startedSender: Int? {
        mutating get {
            guard !ready.isEmpty, runningSenders < sendersMax + replacedSenders,
                let sender = idleSenders.popLast()
            else { return nil }
            runningSenders += 1
            return sender
        }
    }
}
