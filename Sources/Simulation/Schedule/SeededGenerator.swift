/// A random generator with the same numbers for a seed on every machine: SplitMix64.
///
/// Steele, Lea, Flood: "Fast splittable pseudorandom number generators", OOPSLA 2014.
package struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    package init(seed: UInt64) {
        state = seed
    }

    package mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }

    /// Returns a number below `bound`, which is positive.
    ///
    /// Not `Int.random(in:using:)`: the library may change its use of the source, and old seeds
    /// would then replay a different run.
    mutating func next(below bound: Int) -> Int {
        Int(next().multipliedFullWidth(by: UInt64(bound)).high)
    }

    mutating func nextBool() -> Bool { next(below: 2) == 1 }

    /// Returns an independent generator, for a part whose draws must not shift those of others.
    package mutating func split() -> SeededGenerator {
        SeededGenerator(seed: next())
    }

    /// Returns true with a probability of 0 to 1.
    package mutating func happens(_ probability: Double) -> Bool {
        probability > 0 && Double.random(in: 0..<1, using: &self) < probability
    }

    /// Returns a duration in the range, evenly distributed, in whole microseconds.
    package mutating func duration(in range: ClosedRange<Duration>) -> Duration {
        let width = range.upperBound - range.lowerBound
        let microseconds =
            width.components.seconds * 1_000_000
            + width.components.attoseconds / 1_000_000_000_000
        return range.lowerBound + .microseconds(Int64.random(in: 0...microseconds, using: &self))
    }
}
