/// A set of byte offsets of a file, stored as the fewest ranges: ascending, separate, not empty.
package struct ExtentSet: Hashable, Sendable {
    package private(set) var ranges: [Range<UInt64>]

    package init(_ ranges: [Range<UInt64>] = []) {
        self.ranges = []
        for range in ranges { insert(range) }
    }

    /// Limit of a file's size, in bytes. POSIX: `off_t` is signed.
    package static let endMax = UInt64(Int64.max)

    /// All bytes that a file can have.
    package static let everything = ExtentSet([0..<endMax])

    package var isEmpty: Bool { ranges.isEmpty }

    package func contains(_ range: Range<UInt64>) -> Bool {
        guard !range.isEmpty else { return true }
        let index = firstIndex(endingAfter: range.lowerBound)
        return index < ranges.count && ranges[index].lowerBound <= range.lowerBound
            && range.upperBound <= ranges[index].upperBound
    }

    package mutating func insert(_ range: Range<UInt64>) {
        guard !range.isEmpty else { return }
        // Adjacent ranges are merged, so the search includes ranges that end at the lower bound.
        let first = firstIndex { $0.upperBound >= range.lowerBound }
        let last = firstIndex { $0.lowerBound > range.upperBound }
        guard first < last else {
            ranges.insert(range, at: first)
            return
        }
        let lower = min(range.lowerBound, ranges[first].lowerBound)
        let upper = max(range.upperBound, ranges[last - 1].upperBound)
        ranges.replaceSubrange(first..<last, with: [lower..<upper])
    }

    package mutating func remove(_ range: Range<UInt64>) {
        guard !range.isEmpty else { return }
        let first = firstIndex(endingAfter: range.lowerBound)
        let last = firstIndex { $0.lowerBound >= range.upperBound }
        guard first < last else { return }
        var rest: [Range<UInt64>] = []
        if ranges[first].lowerBound < range.lowerBound {
            rest.append(ranges[first].lowerBound..<range.lowerBound)
        }
        if ranges[last - 1].upperBound > range.upperBound {
            rest.append(range.upperBound..<ranges[last - 1].upperBound)
        }
        ranges.replaceSubrange(first..<last, with: rest)
    }

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

    /// Returns the end of the last part of the set below `end`; 0 if there is none.
    package func end(below end: UInt64) -> UInt64 {
        guard let last = ranges.last(where: { $0.lowerBound < end }) else { return 0 }
        return min(last.upperBound, end)
    }

    /// Returns the first part of `range` that is not in the set; nil if all of it is.
    package func firstGap(in range: Range<UInt64>) -> Range<UInt64>? {
        guard !range.isEmpty else { return nil }
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
        firstIndex { $0.upperBound > offset }
    }

    /// Returns the first index whose range satisfies a monotonic condition.
    private func firstIndex(where isReached: (Range<UInt64>) -> Bool) -> Int {
        var low = 0
        var high = ranges.count
        while low < high {
            let middle = (low + high) / 2
            if isReached(ranges[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
