import Testing

@testable import Engine

/// The names of a listing, in memory or in a temporary table.
@Suite("A set of names")
struct NameSetTests {
    private static func names(_ numbers: some Sequence<Int>) -> [FileName] {
        numbers.map { FileName("name \(100_000 + $0)")! }
    }

    @Test(arguments: [10, NameSet.inMemoryMax * 2])
    func `tells new names from known ones, and which are missing`(count: Int) throws {
        let set = NameSet()
        let even = Self.names(stride(from: 0, to: count, by: 2)).shuffled()
        #expect(try set.insert(even) == count / 2)
        #expect(try set.insert(even.prefix(3) + Self.names([1, 1])) == 1)
        #expect(try set.missing(among: []) == [])
        let missing = try set.missing(among: Self.names(0..<count))
        #expect(missing == Self.names(stride(from: 3, to: count, by: 2)))
        #expect(try set.missing(among: Self.names([count + 1])).count == 1)
    }

    @Test func `moves its names to the table once there are many`() throws {
        let set = NameSet()
        let pieces = stride(from: 0, to: NameSet.inMemoryMax * 2, by: 1_000)
        for first in pieces {
            #expect(try set.insert(Self.names(first..<first + 1_000)) == 1_000)
        }
        #expect(try set.missing(among: Self.names(0..<NameSet.inMemoryMax * 2)) == [])
        let odd = [FileName([255])!, FileName([195, 40])!]
        #expect(try set.insert(odd) == 2)
        #expect(try set.missing(among: odd.reversed()) == [])
    }
}
