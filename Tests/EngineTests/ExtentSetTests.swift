import Engine
import TestBytes
import Testing

@Suite("A set of extents")
struct ExtentSetTests {
    @Test func `ranges that overlap or touch become one`() {
        var set = ExtentSet([10..<20, 30..<40])
        set.insert(20..<30)
        #expect(set.ranges == [10..<40])
        set.insert(5..<12)
        #expect(set.ranges == [5..<40])
        set.insert(50..<60)
        #expect(set.ranges == [5..<40, 50..<60])
    }

    @Test func `removing splits a range`() {
        var set = ExtentSet([0..<100])
        set.remove(40..<60)
        #expect(set.ranges == [0..<40, 60..<100])
        set.remove(0..<40)
        #expect(set.ranges == [60..<100])
        set.remove(50..<200)
        #expect(set.isEmpty)
    }

    @Test func `gaps are what is missing, in order`() {
        let set = ExtentSet([10..<20, 30..<40])
        #expect(set.gaps(in: 0..<50) == [0..<10, 20..<30, 40..<50])
        #expect(set.gaps(in: 12..<18) == [])
        #expect(set.gaps(in: 15..<35) == [20..<30])
        #expect(set.firstGap(in: 15..<35) == 20..<30)
        #expect(set.firstGap(in: 32..<38) == nil)
        #expect(set.firstGap(in: 0..<0) == nil)
    }

    @Test func `an empty range is always contained and changes nothing`() {
        var set = ExtentSet()
        #expect(set.contains(7..<7))
        set.insert(7..<7)
        #expect(set.isEmpty)
        set.remove(7..<7)
        #expect(set.isEmpty)
    }

    /// Method: the same random operations on a plain array of booleans.
    @Test(arguments: 0..<20)
    func `it agrees with a set of single bytes`(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var set = ExtentSet()
        var bytes = [Bool](repeating: false, count: 64)
        for _ in 0..<200 {
            let start = Int(random.next() % 64)
            let range = start..<min(64, start + Int(random.next() % 20))
            let isInsertion = random.next() % 3 > 0
            let extent = UInt64(range.lowerBound)..<UInt64(range.upperBound)
            if isInsertion { set.insert(extent) } else { set.remove(extent) }
            for index in range { bytes[index] = isInsertion }

            #expect(set.contains(extent) == range.allSatisfy { bytes[$0] })
            let gaps = set.gaps(in: 0..<64)
            #expect(gaps.flatMap { $0.map { Int($0) } } == bytes.indices.filter { !bytes[$0] })
            #expect(set.firstGap(in: 0..<64) == gaps.first)
            for (left, right) in zip(set.ranges, set.ranges.dropFirst()) {
                #expect(left.upperBound < right.lowerBound)
            }
        }
    }
}
