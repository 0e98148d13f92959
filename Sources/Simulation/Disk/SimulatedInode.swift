import Engine

/// A simulated file: its current content, that on the medium, and the changes in between.
struct SimulatedInode: Sendable {
    struct Image: Sendable {
        var bytes = SimulatedBytes()
        var modified: Timestamp
        var extendedAttributes = ExtendedAttributes()
    }

    enum Change: Sendable {
        case write([UInt8], offset: UInt64, at: Timestamp)
        case truncate(size: UInt64, at: Timestamp)
        case punch(Range<UInt64>, at: Timestamp)
        case setModified(Timestamp)
        case setExtendedAttributes(ExtendedAttributes)
        /// All bytes at once, of a clone.
        case fill(SimulatedBytes, at: Timestamp)
    }

    /// The unit that a disk writes atomically.
    private static let sectorBytes: UInt64 = 512

    private(set) var current: Image
    /// The synced content.
    private var durable: Image
    /// Changes since, oldest first; any of them may be on the medium.
    private var pending: [Change] = []
    /// The number of failed syncs since the last power cut.
    private(set) var failures = 0
    /// Whether the last of them was reported. If not, a file opened now learns of it too.
    private var isFailureReported = true

    var openCount = 0
    var isNamed = false
    var isNamedDurably = false
    /// Whether its last name and handle have gone, and its room with them.
    var isDropped = false

    init(created: Timestamp) {
        current = Image(modified: created)
        durable = current
    }

    mutating func apply(_ change: Change) {
        current.apply(change)
        pending.append(change)
    }

    /// Puts all changes on the medium.
    mutating func synchronize() {
        for change in pending { durable.apply(change) }
        pending = []
    }

    /// Takes all changes for stored, although the medium lacks them, as the kernel does after it has
    /// reported the failure.
    mutating func failToSynchronize() {
        failures += 1
        isFailureReported = false
        pending = []
    }

    var isSynchronized: Bool { pending.isEmpty }

    /// Whether the medium will lack bytes even after the next sync.
    var hasLostBytes: Bool {
        if failures == 0 { return false }
        var stored = durable
        for change in pending { stored.apply(change) }
        return stored.bytes != current.bytes
    }

    /// The number of failures that a file opened now will not report.
    var failuresReported: Int { isFailureReported ? failures : failures - 1 }

    /// - Returns: Whether there were failures after the first `known` ones.
    mutating func reportFailures(after known: Int) -> Bool {
        guard failures > known else { return false }
        isFailureReported = true
        return true
    }

    /// Returns to the state of the medium: the synced content and any part of the later changes, as
    /// the disk's cache may have written none, all, the first ones or any, the last of them perhaps
    /// in part.
    mutating func loseMemory(by generator: inout SeededGenerator) {
        var survivors = Self.survivors(of: pending, by: &generator)
        if generator.nextBool(), let last = survivors.popLast() {
            survivors += Self.torn(last, by: &generator)
        }
        for change in survivors { durable.apply(change) }
        current = durable
        pending = []
        (failures, isFailureReported) = (0, true)
        openCount = 0
        isDropped = false
    }

    private static func survivors(
        of changes: [Change], by generator: inout SeededGenerator
    ) -> [Change] {
        switch generator.next(below: 4) {
        case 0: []
        case 1: changes
        case 2: Array(changes.prefix(generator.next(below: changes.count + 1)))
        default: changes.filter { _ in generator.nextBool() }
        }
    }

    /// A change cut at a sector boundary, or nothing.
    private static func torn(_ change: Change, by generator: inout SeededGenerator) -> [Change] {
        guard case .write(let bytes, let offset, let time) = change else { return [change] }
        let end = offset + UInt64(generator.next(below: bytes.count + 1))
        let sectorEnd = end - end % sectorBytes
        if sectorEnd <= offset { return [] }
        return [.write(Array(bytes.prefix(Int(sectorEnd - offset))), offset: offset, at: time)]
    }
}

extension SimulatedInode.Image {
    fileprivate mutating func apply(_ change: SimulatedInode.Change) {
        switch change {
        case .write(let bytes, let offset, let time):
            self.bytes.write(bytes, at: offset)
            modified = time
        case .truncate(let size, let time):
            bytes.truncate(to: size)
            modified = time
        case .punch(let range, let time):
            bytes.punch(range)
            modified = time
        case .setModified(let time):
            modified = time
        case .setExtendedAttributes(let attributes):
            for name in attributes.names { extendedAttributes[name] = attributes[name] }
        case .fill(let bytes, let time):
            self.bytes = bytes
            modified = time
        }
    }
}
