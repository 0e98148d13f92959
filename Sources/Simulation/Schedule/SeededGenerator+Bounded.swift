extension SeededGenerator {
    /// A number below `bound`, which is positive.
    ///
    /// Not `Int.random(in:using:)`: how that uses the source may change with the library, and old
    /// seeds would then replay something else.
    mutating func next(below bound: Int) -> Int {
        Int(next().multipliedFullWidth(by: UInt64(bound)).high)
    }

    mutating func nextBool() -> Bool { next(below: 2) == 1 }
}
