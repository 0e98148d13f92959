/// Recognises reads of equal length at equal distances, such as those of a column of a table.
struct ReadStride {
    private var last: Range<UInt64>?
    private var distance: UInt64 = 0
    private var repetitions = 0

    /// How often a distance must repeat.
    private static let repetitionsMin = 3
    /// How many steps are fetched ahead.
    private static let stepsMax: UInt64 = 8
    /// The longest step that is fetched ahead.
    private static let stepBytesMax = 1 << 20

    mutating func note(_ range: Range<UInt64>) {
        defer { last = range }
        guard let last, range.lowerBound > last.upperBound, range.count == last.count else {
            repetitions = 0
            return
        }
        let found = range.lowerBound - last.lowerBound
        repetitions = found == distance ? repetitions + 1 : 0
        distance = found
    }

    /// Returns the ranges of the next steps; empty if none are likely.
    func next(bytesMax: UInt64) -> [Range<UInt64>] {
        guard repetitions >= Self.repetitionsMin, let last, last.count <= Self.stepBytesMax else {
            return []
        }
        let steps = min(Self.stepsMax, bytesMax / UInt64(last.count))
        var (next, ranges) = (last, [Range<UInt64>]())
        for _ in 0..<steps {
            // No file has bytes there, and the sum must not overflow.
            guard distance <= ExtentSet.endMax, next.upperBound <= ExtentSet.endMax - distance
            else { break }
            next = next.lowerBound + distance..<next.upperBound + distance
            ranges.append(next)
        }
        return ranges
    }
}
