import Engine
import Host
import Testing

@Suite("The space that is kept free") struct KeepFreeTests {
    private static let space = StorageSpace(totalBytes: 200 << 30, availableBytes: 1 << 30)

    @Test(
        arguments: [
            (.percent(10), 20), (.percent(0), 0), (.percent(99), 198), (.bytes(3 << 30), 3),
        ] as [(KeepFree, UInt64)])
    func `is a share of the disk or a size`(keepFree: KeepFree, expected: UInt64) {
        #expect(keepFree.bytes(of: Self.space) >> 30 == expected)
    }

    @Test(arguments: [(20, 2), (50, 5), (8_000, 5)] as [(UInt64, UInt64)])
    func `is a tenth of the disk by default, and 5 GiB at most`(total: UInt64, expected: UInt64) {
        let space = StorageSpace(totalBytes: total << 30, availableBytes: 1 << 30)
        #expect(KeepFree.standard.bytes(of: space) == expected << 30)
    }
}
