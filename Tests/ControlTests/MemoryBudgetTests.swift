import Testing

@testable import apus

/// The shares of `--memory`, as README names them.
struct MemoryBudgetTests {
    @Test
    func
        `a quarter each is for SQLite and requests, an eighth waits for the disk, the kernel has the rest`()
    {
        let budget = MemoryBudget(bytes: 64 << 20)
        #expect(MemoryBudget.standard == budget)
        #expect(budget.databaseBytes == 16 << 20)
        #expect(budget.transferBytes == 16 << 20)
        #expect(budget.waitingBytes == 8 << 20)
        // 1 MiB each.
        #expect(budget.requestsMax == 24)
    }

    @Test(arguments: [16 << 20, 20 << 20, 64 << 20, 80 << 20] as [UInt64])
    func `the shares together are no more than the whole`(bytes: UInt64) {
        let budget = MemoryBudget(bytes: bytes)
        let sum =
            budget.databaseBytes + budget.transferBytes + budget.waitingBytes
            + UInt64(budget.requestsMax) << 20
        #expect(sum <= bytes)
    }

    @Test func `fewer than four requests and more than 32 are never handled at a time`() {
        #expect(MemoryBudget(bytes: 1 << 20).requestsMax == 4)
        #expect(MemoryBudget(bytes: MemoryBudget.bytesMax).requestsMax == 32)
    }
}
