import Testing

@testable import Engine

@Suite("The ledger of the cache")
struct CacheLedgerTests {
    @Test func `counts what is recorded, open and reserved`() {
        var ledger = CacheLedger(bytesMax: 100)
        ledger.setRecorded(50, at: 1)
        ledger.note(20)
        let fits = ledger.reserve(30)
        let fitsNoMore = ledger.reserve(1)
        #expect(fits && !fitsNoMore)
        #expect(ledger.excess(with: 5) == 5)
        #expect(ledger.local == 70)
        ledger.release(30)
        #expect(ledger.excess(with: 30) == 0)
    }

    @Test func `counts evicted bytes until they are removed`() {
        var ledger = CacheLedger(bytesMax: 100)
        ledger.setRecorded(30, at: 1)
        ledger.leave(60)
        let fits = ledger.reserve(11)
        #expect(!fits)
        #expect(ledger.local == 90)
        ledger.left(20)
        // Requests are not held up by them as by those that others fetch.
        let exceeds = ledger.overdraw(50, max: 50)
        #expect(exceeds)
        #expect(ledger.local == 70)
    }

    @Test func `bytes that the database learns of count once`() {
        var ledger = CacheLedger(bytesMax: 100)
        ledger.setRecorded(50, at: 1)
        ledger.note(20)
        ledger.move(20)
        #expect(ledger.local == 70)
        #expect(ledger.commitCount == nil, "the database is asked again")
        ledger.setRecorded(70, at: 2)
        #expect(ledger.local == 70)
        ledger.note(-60)
        #expect(ledger.local == 10)
    }

    @Test func `exceeds the bound as long as there is something to wait for`() {
        var ledger = CacheLedger(bytesMax: 10)
        let first = ledger.overdraw(40, max: 20)
        let second = ledger.overdraw(1, max: 20)
        ledger.release(40)
        let third = ledger.overdraw(15, max: 20)
        let fourth = ledger.overdraw(5, max: 20)
        #expect(first && !second && third && fourth)
    }
}

@Suite("The positions of readers")
struct ReadPositionTests {
    private static let mebibyte: UInt64 = 1 << 20

    private func inUse(
        _ reads: ReadPositions, at now: Duration = .seconds(1)
    ) -> [Range<UInt64>] {
        reads.inUse(trail: Self.mebibyte, window: 8 * Self.mebibyte, at: now)
    }

    @Test func `a reader keeps bytes around it, as many as it has shown to need`() {
        var reads = ReadPositions()
        let far = 100 * Self.mebibyte
        reads.note(far..<far + 4_096, at: .seconds(1))
        #expect(inUse(reads) == [far..<far + 4_096 + Self.mebibyte])
        for index in 1..<4 {
            let start = far + UInt64(index) * Self.mebibyte
            reads.note(start..<start + Self.mebibyte, at: .seconds(1))
        }
        #expect(reads.position == 104 * Self.mebibyte)
        #expect(inUse(reads) == [103 * Self.mebibyte..<112 * Self.mebibyte])
        #expect(
            reads.ahead(windowMax: 6 * Self.mebibyte, at: .seconds(1)) == [
                104 * Self.mebibyte..<110 * Self.mebibyte
            ])
        #expect(inUse(reads, at: .seconds(20)).isEmpty, "it is idle")
    }

    @Test func `requests out of order belong to one reader`() {
        var reads = ReadPositions()
        for index in [0, 2, 1, 4, 3] as [UInt64] {
            let start = index << 17
            reads.note(start..<start + 1 << 17, at: .seconds(1))
        }
        #expect(inUse(reads).count == 1)
        reads.note(50 << 20..<51 << 20, at: .seconds(2))
        #expect(inUse(reads).count == 2)
    }

    @Test func `bytes that a request waits for are kept until it reads them`() {
        var reads = ReadPositions()
        reads.expect(0..<4_096, at: .seconds(1))
        #expect(reads.inUse(trail: 0, window: nil, at: .seconds(2)) == [0..<4_096])
        reads.beginServing(8_192..<8_193)
        #expect(reads.inUse(trail: 0, window: nil, at: .seconds(20)) == [8_192..<8_193])
        reads.endServing(8_192..<8_193)
        reads.expect(0..<4_096, at: .seconds(20))
        reads.note(0..<4_096, at: .seconds(20))
        #expect(reads.inUse(trail: 0, window: nil, at: .seconds(20)).isEmpty)
    }
}
