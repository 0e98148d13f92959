/// A set of byte offsets of a file, stored as the fewest ranges: ascending, separate, not empty.
package struct ExtentSet: Hashable, Sendable {
    private var extents: RangeSet<UInt64>

    package init(_ ranges: [Range<UInt64>] = []) {
        extents = RangeSet(ranges)
    }

    package var ranges: [Range<UInt64>] { Array(extents.ranges) }

    /// Limit of a file's size, in bytes. POSIX: `off_t` is signed.
    package static let endMax = UInt64(Int64.max)

    /// All bytes that a file can have.
    package static let everything = ExtentSet([0..<endMax])

    package var isEmpty: Bool { extents.isEmpty }

    package func contains(_ range: Range<UInt64>) -> Bool { firstGap(in: range) == nil }

    package mutating func insert(_ range: Range<UInt64>) { extents.insert(contentsOf: range) }

    package mutating func remove(_ range: Range<UInt64>) { extents.remove(contentsOf: range) }

    /// The parts of `range` that are not in the set, ascending.
    package func gaps(in range: Range<UInt64>) -> [Range<UInt64>] {
        var gaps: [Range<UInt64>] = []
        var rest = range
        while let gap = firstGap(in: rest) {
            gaps.append(gap)
            rest = gap.upperBound..<range.upperBound
        }
        return gaps
    }

    /// The parts of `range` that are in the set, as a set.
    package func intersection(_ range: Range<UInt64>) -> ExtentSet {
        var inside = ExtentSet([range])
        for gap in gaps(in: range) { inside.remove(gap) }
        return inside
    }

    /// Returns the end of the last part of the set below `end`; 0 if there is none.
    package func end(below end: UInt64) -> UInt64 {
        guard let last = extents.ranges.last(where: { $0.lowerBound < end }) else { return 0 }
        return min(last.upperBound, end)
    }

    /// Returns the first part of `range` that is not in the set; nil if all of it is.
    package func firstGap(in range: Range<UInt64>) -> Range<UInt64>? {
        guard !range.isEmpty else { return nil }
        let ranges = extents.ranges
        var position = range.lowerBound
        var index = firstIndex(endingAfter: position)
        if index < ranges.count, ranges[index].lowerBound <= position {
            position = ranges[index].upperBound
            index += 1
        }
        guard position < range.upperBound else { return nil }
        let end =
            index < ranges.count
            ? min(range.upperBound, ranges[index].lowerBound) : range.upperBound
        return position..<end
    }

    private func firstIndex(endingAfter offset: UInt64) -> Int {
        let ranges = extents.ranges
        var (low, high) = (0, ranges.count)
        while low < high {
            let middle = (low + high) / 2
            if ranges[middle].upperBound > offset { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
