import Engine

/// Selects the smallest of many names in little memory: a page of a listing in the order of names.
///
/// It keeps a 64th of all names seen, `countMin` at least and twice that at most, so that the number
/// of pages, each of which scans all names, does not grow with the directory.
struct SmallestNames {
    private let countMin: Int
    private let last: FileName?
    private var names: [FileName] = []
    private var seen = 0
    /// Names above it were dropped, so no name above it may be kept.
    private var bound: FileName?

    /// - Parameter last: Only names above it count.
    init(countMin: Int, after last: FileName?) {
        self.countMin = countMin
        self.last = last
    }

    mutating func insert(_ name: FileName) {
        seen += 1
        if let last, name <= last { return }
        if let bound, name > bound { return }
        names.append(name)
        if names.count > 2 * countMax { shrink() }
    }

    /// - Returns: The names in ascending order, and whether they are the last ones.
    mutating func finish() -> (names: [FileName], isLast: Bool) {
        if names.count > countMax { shrink() } else { names.sort() }
        return (names, bound == nil)
    }

    private var countMax: Int { max(countMin, seen / 64) }

    private mutating func shrink() {
        names.sort()
        names.removeLast(names.count - countMax)
        bound = names.last
    }
}
