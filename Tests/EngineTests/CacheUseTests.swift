import GRDB
import Testing

@testable import Engine

@Suite("Sizes that follow from the bound of the cache") struct CacheUseTests {
    private static func limits(_ bytesMax: UInt64, hasRoom: Bool) throws -> AheadLimits {
        let store = try Store(DatabaseQueue())
        return CacheUse(store: store, bytesMax: bytesMax).aheadLimits(hasRoom: hasRoom)
    }

    @Test(
        arguments: [
            (20 << 30, true, 128 << 20), (20 << 30, false, 32 << 20), (512 << 20, true, 64 << 20),
            (256 << 20, false, 16 << 20), (64 << 20, true, 8 << 20),
        ] as [(UInt64, Bool, UInt64)])
    func `the most bytes ahead of a sequential reader`(
        bytesMax: UInt64, hasRoom: Bool, expected: UInt64
    ) throws {
        #expect(try Self.limits(bytesMax, hasRoom: hasRoom).windowBytes == expected)
    }
}
