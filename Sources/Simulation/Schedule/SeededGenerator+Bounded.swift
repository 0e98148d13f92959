extension SeededGenerator {
    /// Returns a number below `bound`, which is positive.
    ///
    /// Not `Int.random(in:using:)`: the library may change its use of the source, and old seeds
    /// would then replay a different run.
    mutating func next(below bound: Int) -> Int {
        Int(next().multipliedFullWidth(by: UInt64(bound)).high)
    }

    mutating func nextBool() -> Bool { next(below: 2) == 1 }
}
