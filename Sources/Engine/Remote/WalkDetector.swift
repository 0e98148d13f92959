/// Recognises programs that read a tree directory by directory, as `find`, `du` and `cp -a` do, and
/// decides how far ahead of them directories are listed. Reading a single directory, or some here and
/// there, lists nothing ahead. Has no clock: time is an argument.
struct WalkDetector {
    /// Maximum number of directories listed ahead that no program has read yet.
    static let aheadMax = 32
    /// How many subdirectories a step may skip: a walk with several threads overtakes itself.
    static let gapMax = 4
    /// How many directories are remembered whose subdirectories are read.
    private static let walksMax = 64
    /// A walk ends after this long without a step.
    private static let age: Duration = .seconds(10)

    /// The reading of one directory after others.
    struct Step {
        var directory: InodeNumber
        var parent: InodeNumber
        /// The directory's own place in its parent.
        var cookie: Int64
        /// The parent's place; nil for the root's.
        var above: (parent: InodeNumber, cookie: Int64)?
        /// Whether it is one of the next subdirectories after the last one read, or after none.
        var isNext: Bool
    }

    /// The consequence of a step.
    struct Plan: Equatable {
        /// The number of further directories to list.
        var listings = 0
        /// Whether the program reads what is in each directory before the next one beside it.
        var descends = false
        /// Whether it asks for the attributes of files.
        var looks = false
    }

    /// The subdirectories of one directory, being read in their order.
    private struct Walk {
        var last: Duration
        var cookie: Int64
        /// The number of subdirectories read in order.
        var steps: Int
        var descends = false
        var looks = false
    }

    private var walks: [InodeNumber: Walk] = [:]
    /// The directories listed ahead that no program has read, in the order in which it will.
    private(set) var ahead: [InodeNumber] = []
    /// Those of them whose files' metadata was requested.
    private var looked: Set<InodeNumber> = []
    private var lastStep: Duration?
    /// Whether the program of the last step asks for the attributes of files.
    private var isLooking = false

    /// Whether a directory was listed ahead, and no program has read it.
    func isAhead(_ directory: InodeNumber) -> Bool { ahead.contains(directory) }

    /// Whether a program may still read what is listed ahead.
    func isAlive(at now: Duration) -> Bool {
        lastStep.map { now - $0 < Self.age } ?? false
    }

    /// Returns the place of the subdirectory that was read last; nil if none was recently.
    func last(in parent: InodeNumber, at now: Duration) -> Int64? {
        walk(of: parent, at: now)?.cookie
    }

    /// Whether a program asks for the attributes of the files in each subdirectory of a directory.
    func looks(below parent: InodeNumber, at now: Duration) -> Bool {
        walk(of: parent, at: now).map { $0.looks && $0.steps > 1 } ?? false
    }

    /// Records that a program waits for the attributes of a file.
    ///
    /// - Parameter parent: The parent of its directory.
    mutating func noteLook(below parent: InodeNumber) {
        walks[parent]?.looks = true
    }

    /// Records that a program reads a directory.
    mutating func note(_ step: Step, at now: Duration) -> Plan {
        if !isAlive(at: now) { (ahead, looked) = ([], []) }
        lastStep = now
        ahead.removeAll { $0 == step.directory }
        var walk = walk(of: step.parent, at: now) ?? begun(by: step, at: now)
        if step.cookie > walk.cookie {
            walk.steps = step.isNext ? walk.steps + 1 : 0
            walk.cookie = step.cookie
        }
        walk.last = now
        keep(walk, of: step.parent)
        isLooking = walk.looks && walk.steps > 1
        return Plan(
            listings: max(0, Self.window(walk.steps) - ahead.count), descends: walk.descends,
            looks: isLooking)
    }

    /// Records that directories are being listed ahead.
    mutating func noteAhead(_ directories: [InodeNumber]) { ahead += directories }

    /// Returns those of a directory and the ones listed ahead of it whose files' metadata was not
    /// requested yet, in order.
    func unlooked(_ directory: InodeNumber) -> [InodeNumber] {
        ([directory] + ahead).filter { !looked.contains($0) }
    }

    /// Whether the program will ask for the attributes of the files in a directory listed ahead.
    func expectsLooks(in directory: InodeNumber, at now: Duration) -> Bool {
        isLooking && isAlive(at: now) && isAhead(directory) && !looked.contains(directory)
    }

    /// Records that the metadata of a directory's files was requested.
    mutating func noteLooked(_ directory: InodeNumber) {
        looked.formIntersection(ahead)
        looked.insert(directory)
    }

    /// Returns the number of directories to be listed ahead after some steps in order.
    private static func window(_ steps: Int) -> Int {
        steps < 2 ? 0 : steps < 4 ? min(4 << ((steps - 2) * 2), aheadMax) : aheadMax
    }

    /// Returns a walk that begins below another one, from which it takes over the pace.
    private mutating func begun(by step: Step, at now: Duration) -> Walk {
        var walk = Walk(last: now, cookie: 0, steps: 0)
        guard let above = step.above, var upper = self.walk(of: above.parent, at: now),
            upper.cookie == above.cookie
        else { return walk }
        upper.descends = true
        walks[above.parent] = upper
        // The step itself counts once; a path that a user follows down is no walk.
        walk.steps = max(0, upper.steps - 1)
        (walk.descends, walk.looks) = (upper.steps > 1, upper.looks)
        return walk
    }

    private func walk(of parent: InodeNumber, at now: Duration) -> Walk? {
        guard let walk = walks[parent], now - walk.last < Self.age else { return nil }
        return walk
    }

    private mutating func keep(_ walk: Walk, of parent: InodeNumber) {
        if walks[parent] == nil, walks.count >= Self.walksMax,
            let oldest = walks.min(by: { ($0.value.last, $0.key) < ($1.value.last, $1.key) })
        {
            walks[oldest.key] = nil
        }
        walks[parent] = walk
    }
}
