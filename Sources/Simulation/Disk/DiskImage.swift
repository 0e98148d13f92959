import Engine

/// All files of a simulated disk, with their current names and those on the medium.
struct DiskImage: Sendable {
    /// The maximum number of removals that the medium may lack. Like a real disk's journal, it has
    /// all older ones; otherwise each removed file would be kept permanently.
    private static let removalsPendingMax = 64

    typealias Number = Int

    private(set) var inodes: [Number: SimulatedInode] = [:]
    private(set) var names: [String: Number] = [:]
    private var durableNames: [String: Number] = [:]
    private var removalsPending: [String] = []
    private var numbersUsed = 0
    /// Bytes of all files that have a name or are open.
    private(set) var usedBytes: UInt64 = 0 {
        didSet { usedBytesMax = max(usedBytesMax, usedBytes) }
    }
    /// The maximum of ``usedBytes`` so far.
    var usedBytesMax: UInt64 = 0

    subscript(number: Number) -> SimulatedInode {
        guard let inode = inodes[number] else { preconditionFailure("an open file is there") }
        return inode
    }

    func status(of number: Number) -> DiskFileStatus {
        let file = self[number].current
        return DiskFileStatus(
            size: file.bytes.size, allocatedBytes: file.bytes.allocatedBytes,
            modified: file.modified)
    }

    /// Makes an empty file without a name.
    mutating func create(at time: Timestamp) -> Number {
        numbersUsed += 1
        inodes[numbersUsed] = SimulatedInode(created: time)
        return numbersUsed
    }

    mutating func apply(_ change: SimulatedInode.Change, to number: Number) {
        usedBytes -= self[number].current.bytes.allocatedBytes
        inodes[number]?.apply(change)
        usedBytes += self[number].current.bytes.allocatedBytes
    }

    /// Names a file, replacing any other file of that name.
    mutating func link(_ number: Number, as path: String) {
        unlink(path)
        names[path] = number
        inodes[number]?.isNamed = true
    }

    /// - Returns: Whether there is such a file.
    mutating func move(_ path: String, to destination: String) -> Bool {
        guard let number = names[path] else { return false }
        guard path != destination else { return true }
        // It keeps a name throughout, so that it is not removed as unused.
        unlink(destination)
        names[destination] = number
        names[path] = nil
        if durableNames[path] == number {
            // A journal has either the old or the new name; here the new one.
            durableNames[path] = nil
            setDurable(number, as: destination)
        } else if durableNames[path] != nil {
            noteRemoval(of: path)
        }
        return true
    }

    mutating func unlink(_ path: String) {
        guard let number = names.removeValue(forKey: path) else { return }
        inodes[number]?.isNamed = false
        if durableNames[path] != nil { noteRemoval(of: path) }
        dropIfUnused(number)
    }

    private mutating func noteRemoval(of path: String) {
        removalsPending.append(path)
        guard removalsPending.count > Self.removalsPendingMax else { return }
        let oldest = removalsPending.removeFirst()
        if names[oldest] == nil { setDurable(nil, as: oldest) }
    }

    mutating func opened(_ number: Number) {
        inodes[number]?.openCount += 1
    }

    mutating func closed(_ number: Number) {
        inodes[number]?.openCount -= 1
        dropIfUnused(number)
    }

    /// Puts all bytes, names and removals on the medium.
    mutating func synchronizeAll() {
        for number in inodes.keys { inodes[number]?.synchronize() }
        for (path, number) in names { setDurable(number, as: path) }
        for path in durableNames.keys.filter({ names[$0] == nil }) { setDurable(nil, as: path) }
        removalsPending = []
    }

    /// Loses what is not on the medium yet, although it can be read until the next power cut.
    mutating func failToSynchronize(_ number: Number) {
        inodes[number]?.failToSynchronize()
    }

    /// - Returns: Whether a file had failures after the first `known` ones.
    mutating func reportFailures(of number: Number, after known: Int) -> Bool {
        inodes[number]?.reportFailures(after: known) ?? false
    }

    mutating func failToSynchronizeAll() {
        for number in inodes.keys where inodes[number]?.isSynchronized == false {
            failToSynchronize(number)
        }
    }

    /// Puts a file's bytes on the medium, and its name if it still is `path`.
    mutating func synchronize(_ number: Number, as path: String) {
        inodes[number]?.synchronize()
        if names[path] == number { setDurable(number, as: path) }
    }
}

// MARK: - Crashes

extension DiskImage {
    /// Closes all files, as the end of a process does.
    mutating func closeAll() {
        for number in inodes.keys.sorted() {
            inodes[number]?.openCount = 0
            dropIfUnused(number)
        }
    }

    /// Returns to the state of the medium. A name that was made, replaced or removed since the last
    /// sync is as before or as after.
    mutating func loseMemory(by generator: inout SeededGenerator) {
        var survivors: [String: Number] = [:]
        for path in Set(names.keys).union(durableNames.keys).sorted() {
            let (seen, durable) = (names[path], durableNames[path])
            survivors[path] = seen == durable || generator.nextBool() ? seen : durable
        }
        var inodesLeft: [Number: SimulatedInode] = [:]
        for number in survivors.values.sorted() {
            var inode = self[number]
            inode.loseMemory(by: &generator)
            inode.isNamed = true
            inode.isNamedDurably = true
            inodesLeft[number] = inode
        }
        inodes = inodesLeft
        names = survivors
        durableNames = survivors
        removalsPending = []
        usedBytes = inodes.values.reduce(0) { $0 + $1.current.bytes.allocatedBytes }
    }

    private mutating func setDurable(_ number: Number?, as path: String) {
        if let former = durableNames[path], former != number {
            inodes[former]?.isNamedDurably = false
            removeIfForgotten(former)
        }
        durableNames[path] = number
        if let number { inodes[number]?.isNamedDurably = true }
    }

    /// Called when the last name or the last handle may have gone.
    private mutating func dropIfUnused(_ number: Number) {
        guard let inode = inodes[number], !inode.isNamed, inode.openCount == 0, !inode.isDropped
        else { return }
        usedBytes -= inode.current.bytes.allocatedBytes
        inodes[number]?.isDropped = true
        removeIfForgotten(number)
    }

    /// A power cut may restore a file that has neither a name nor a handle.
    private mutating func removeIfForgotten(_ number: Number) {
        if let inode = inodes[number], inode.isDropped, !inode.isNamedDurably {
            inodes[number] = nil
        }
    }
}
