import Testing

@testable import Engine

@Suite("What is fetched ahead of a reader") struct ReadAheadTests {
    private static let mebibyte: UInt64 = 1 << 20
    private static let max: UInt64 = 64 << 20

    private static func read(
        _ reads: inout ReadPositions, at offset: UInt64, count: UInt64, time: Duration = .seconds(1)
    ) {
        reads.note(offset..<offset + count, at: time)
    }

    private static func ahead(_ reads: ReadPositions, at now: Duration = .seconds(1)) -> [Range<
        UInt64
    >] {
        reads.ahead(windowMax: max, at: now)
    }

    @Test func `nothing, if the reads are here and there`() {
        var reads = ReadPositions()
        var offset: UInt64 = 12_345 << 12
        for _ in 0..<100 {
            offset =
                (offset &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407) % (512 << 20)
            Self.read(&reads, at: offset, count: 4_096)
            #expect(Self.ahead(reads).isEmpty)
        }
        #expect(!reads.isSteady)
    }

    /// Goal: the bytes after a page of a database, of which no use is made, delay no page.
    @Test func `less after each read, if none finds its bytes here`() {
        var reads = ReadPositions()
        func read(at offset: UInt64) {
            reads.expect(offset..<offset + 4_096, at: .seconds(1))
            Self.read(&reads, at: offset, count: 4_096)
        }
        func next() -> UInt64 { reads.randomBytes(1 << 40..<(1 << 40) + 4_096, max: 128 << 10) }
        var sizes: [UInt64] = []
        for index in 0..<40 as Range<UInt64> {
            sizes.append(next() >> 10)
            read(at: (index * 7 % 40) << 30)
        }
        #expect(sizes[..<8].allSatisfy { $0 == 128 } && sizes[8..<16].allSatisfy { $0 == 64 })
        #expect(sizes[16..<24].allSatisfy { $0 == 32 } && sizes[24...].allSatisfy { $0 == 16 })
        Self.read(&reads, at: 4_096, count: 4_096)
        #expect(next() == 128 << 10, "one has found them")
    }

    @Test func `more and more of what follows, if they are in order`() {
        var reads = ReadPositions()
        Self.read(&reads, at: 0, count: 128 << 10)
        #expect(Self.ahead(reads) == [128 << 10..<384 << 10], "the kernel may have read it ahead")
        Self.read(&reads, at: 1 << 17, count: 128 << 10)
        #expect(Self.ahead(reads) == [2 << 17..<66 << 17])
        for index in 2..<8 as Range<UInt64> {
            Self.read(&reads, at: index << 17, count: 128 << 10)
        }
        #expect(Self.ahead(reads) == [1 << 20..<33 << 20])
        Self.read(&reads, at: 1 << 20, count: Self.mebibyte)
        #expect(Self.ahead(reads) == [2 << 20..<66 << 20], "no more than the longest window")
        #expect(reads.isSteady)
    }

    @Test func `nothing after a single long read`() {
        var reads = ReadPositions()
        Self.read(&reads, at: 100 << 20, count: Self.mebibyte)
        #expect(Self.ahead(reads).isEmpty)
        Self.read(&reads, at: 101 << 20, count: Self.mebibyte)
        #expect(Self.ahead(reads) == [102 << 20..<110 << 20])
    }

    /// Goal: a film that is played is not fetched faster than it is watched.
    @Test func `no more than a slow reader needs in two seconds`() {
        var reads = ReadPositions()
        for index in 0..<30 as Range<UInt64> {
            Self.read(&reads, at: index << 20, count: 1 << 20, time: .seconds(Int(index)))
        }
        #expect(Self.ahead(reads, at: .seconds(29)) == [30 << 20..<34 << 20])
        #expect(Self.ahead(reads, at: .seconds(30)).isEmpty, "it pauses")
    }

    @Test func `as much as the cache allows, if the reader only waits for the network`() {
        var reads = ReadPositions()
        for index in 0..<30 as Range<UInt64> {
            let time = Duration.seconds(Int(index))
            reads.expect(index << 20..<(index + 1) << 20, at: time)
            Self.read(&reads, at: index << 20, count: 1 << 20, time: time + .milliseconds(900))
        }
        #expect(Self.ahead(reads, at: .seconds(30)) == [30 << 20..<94 << 20])
    }

    @Test func `the next steps, if the reads are at equal distances`() {
        var reads = ReadPositions()
        for index in 0..<6 as Range<UInt64> {
            Self.read(&reads, at: index * (8 << 20), count: 16 << 10)
        }
        let next = Self.ahead(reads)
        #expect(next.count == 8)
        #expect(next.first == 48 << 20..<(48 << 20) + (16 << 10))
        Self.read(&reads, at: 3 << 20, count: 16 << 10)
        #expect(Self.ahead(reads).isEmpty)
    }

    @Test func `no steps beyond the longest file`() {
        var reads = ReadPositions()
        let distance: UInt64 = (1 << 61) - (1 << 50)
        for index in 0..<5 as Range<UInt64> {
            Self.read(&reads, at: index * distance, count: 16 << 10)
        }
        #expect(Self.ahead(reads).isEmpty)
    }

    /// Goal: what is fetched for one of two readers is not given up, and claimed again, because the other
    /// is served while this one waits.
    @Test func `for a reader that waits while another one reads`() {
        var reads = ReadPositions()
        for index in 0..<64 as Range<UInt64> {
            Self.read(&reads, at: index << 17, count: 128 << 10)
        }
        reads.expect(8 << 20..<(8 << 20) + (128 << 10), at: .seconds(1))
        for index in 0..<64 as Range<UInt64> {
            Self.read(&reads, at: 400 << 20 + index << 17, count: 128 << 10, time: .seconds(3))
        }
        let ahead = Self.ahead(reads, at: .seconds(3))
        #expect(ahead.map(\.lowerBound).contains(8 << 20))
        for range in ahead { #expect(reads.wants(range, windowMax: Self.max)) }
        reads.endExpecting(8 << 20..<(8 << 20) + (128 << 10))
        #expect(!reads.wants(8 << 20..<16 << 20, windowMax: Self.max))
    }

    @Test func `for the reader of another place, once it reads in order there`() {
        var reads = ReadPositions()
        for index in 0..<64 as Range<UInt64> {
            Self.read(&reads, at: index << 17, count: 128 << 10)
        }
        let former: Range<UInt64> = 20 << 20..<24 << 20
        #expect(reads.wants(former, windowMax: Self.max))
        Self.read(&reads, at: 400 << 20, count: 128 << 10, time: .seconds(2))
        Self.read(&reads, at: (400 << 20) + (128 << 10), count: 128 << 10, time: .seconds(2))
        #expect(Self.ahead(reads, at: .seconds(2)).map(\.lowerBound) == [(400 << 20) + (256 << 10)])
        #expect(!reads.wants(former, windowMax: Self.max))
    }

    @Test(arguments: [(20, 8), (128, 21), (192, 32), (1 << 20, 32)] as [(UInt64, Int)])
    func `in fewer pieces, if the process may have few descriptors`(
        descriptors: UInt64, pieces: Int
    ) {
        var configuration = EngineConfiguration(
            source: "", owner: Caller(userID: 0, groupID: 0), hostName: "", controlSocket: "")
        configuration.limitPiecesAhead(descriptorsMax: descriptors)
        #expect(configuration.piecesAheadMax == pieces)
    }

    /// Goal: a program that reads a second file does not wait for the end of a piece of the first one.
    @Test func `in at most 28 pieces of one file, and 32 of all`() {
        let queue = ReadAheadQueue(piecesMax: 32)
        let (first, second) = (InodeNumber(rawValue: 2), InodeNumber(rawValue: 3))
        func begin() -> [InodeNumber] {
            var begun: [InodeNumber] = []
            while let inode = queue.next() {
                begun.append(inode)
                queue.append(inode)
            }
            return begun
        }
        queue.append(first)
        #expect(begin() == Array(repeating: first, count: 28))
        queue.append(second)
        #expect(begin() == Array(repeating: second, count: 4))
        queue.end(first)
        #expect(begin() == [second], "each has the same share")
    }

    /// Method: the file is requested again while its place is on the way back.
    @Test func `for each file at one place of the queue`() {
        let queue = ReadAheadQueue(piecesMax: 32)
        let inode = InodeNumber(rawValue: 2)
        for _ in 0..<2 { queue.append(inode) }
        #expect(queue.next() == inode)
        #expect(queue.next() == nil)
    }
}
