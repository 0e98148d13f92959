import Engine
import Testing

@testable import Host

@Suite struct CacheSizeTests {
    @Test(arguments: [
        // total, available, cached, default, all in GiB
        (1_000, 900, 0, 100), (1_000, 60, 0, 30), (1_000, 60, 100, 80), (1_000, 60, 9_000, 100),
    ])
    func `the default is a tenth of the disk, at most half of its free space`(
        total: UInt64, available: UInt64, cached: UInt64, expected: UInt64
    ) {
        let space = StorageSpace(totalBytes: total << 30, availableBytes: available << 30)
        #expect(CacheSize.standard(on: space, cachedBytes: cached << 30) == expected << 30)
    }

    @Test func `the default is at least the smallest size allowed`() {
        let space = StorageSpace(totalBytes: 64 << 20, availableBytes: 0)
        #expect(CacheSize.standard(on: space, cachedBytes: 0) == 64 << 20)
    }
}
