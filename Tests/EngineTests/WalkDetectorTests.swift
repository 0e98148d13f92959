import Testing

@testable import Engine

@Suite("Recognising a walk through a tree")
struct WalkDetectorTests {
    private static let root = InodeNumber.root
    private var detector = WalkDetector()

    private static func directory(_ number: Int64) -> InodeNumber {
        InodeNumber(rawValue: 100 + number)
    }

    /// Records that the subdirectory with this number, which is its cookie, is read.
    private mutating func read(
        _ number: Int64, isNext: Bool = true, at now: Duration = .zero
    ) -> WalkDetector.Plan {
        let plan = detector.note(
            WalkDetector.Step(
                directory: Self.directory(number), parent: Self.root, cookie: number, above: nil,
                isNext: isNext),
            at: now)
        let begun = detector.ahead.count
        detector.noteAhead(
            (0..<plan.listings).map { Self.directory(number + Int64(begun + $0) + 1) })
        return plan
    }

    @Test mutating func `one directory lists no other`() {
        #expect(read(1) == WalkDetector.Plan())
        #expect(read(1, at: .seconds(1)) == WalkDetector.Plan(), "the same again")
    }

    @Test mutating func `directories in order are listed further and further ahead`() {
        var counts: [Int] = []
        for number in Int64(1)...100 {
            if number > 2 { #expect(detector.isAhead(Self.directory(number))) }
            counts.append(read(number).listings)
            #expect(detector.ahead.count <= WalkDetector.aheadMax)
        }
        #expect(counts.prefix(4) == [0, 4, 13, 17])
        #expect(counts.dropFirst(4).allSatisfy { $0 == 1 }, "as many as are read")
    }

    @Test mutating func `metadata is expected in directories ahead of a program that asks for it`()
    {
        for number in Int64(1)...3 { _ = read(number) }
        #expect(!detector.expectsLooks(in: Self.directory(4), at: .zero), "it asks for none")
        detector.noteLook(below: Self.root)
        #expect(read(4).looks)
        #expect(detector.expectsLooks(in: Self.directory(5), at: .zero))
        #expect(!detector.expectsLooks(in: Self.directory(4), at: .zero), "it is being read")
        #expect(!detector.expectsLooks(in: Self.directory(5), at: .seconds(10)), "the walk is over")
        detector.noteLooked(Self.directory(5))
        #expect(!detector.expectsLooks(in: Self.directory(5), at: .zero), "it is requested")
    }

    @Test mutating func `directories here and there list no other`() {
        for number in stride(from: Int64(1), to: 1_000, by: 10) {
            #expect(read(number, isNext: false).listings == 0)
        }
    }

    @Test mutating func `a walk that rested begins anew, and what it has left is forgotten`() {
        for number in Int64(1)...5 { _ = read(number) }
        #expect(detector.isAlive(at: .seconds(9)))
        #expect(!detector.isAlive(at: .seconds(10)))
        #expect(read(6, at: .seconds(10)).listings == 0)
        #expect(detector.ahead.isEmpty)
    }

    /// Goal: a file manager in which a user goes down a path lists nothing ahead.
    @Test mutating func `a path down the first subdirectories is no walk`() {
        var above: (parent: InodeNumber, cookie: Int64)?
        var parent = Self.root
        for number in Int64(1)...20 {
            let plan = detector.note(
                WalkDetector.Step(
                    directory: Self.directory(number), parent: parent, cookie: number,
                    above: above, isNext: true),
                at: .zero)
            #expect(plan.listings == 0)
            above = (parent, number)
            parent = Self.directory(number)
        }
    }

    @Test mutating func `a walk that goes down is told from one along the directories`() {
        for number in Int64(1)...3 { #expect(!read(number).descends) }
        let below = detector.note(
            WalkDetector.Step(
                directory: InodeNumber(rawValue: 1_000), parent: Self.directory(3), cookie: 500,
                above: (Self.root, 3), isNext: true),
            at: .zero)
        #expect(below.descends)
        #expect(read(4).descends)
    }

    @Test mutating func `attributes are fetched if the program asks for them in each directory`() {
        #expect(!read(1).looks)
        detector.noteLook(below: Self.root)
        #expect(!detector.looks(below: Self.root, at: .zero), "in one directory so far")
        #expect(read(2).looks)
        #expect(detector.looks(below: Self.root, at: .zero))
        let unlooked = Array(detector.unlooked(Self.directory(2)).prefix(2))
        #expect(unlooked == [Self.directory(2), Self.directory(3)])
        detector.noteLooked(Self.directory(3))
        #expect(!detector.unlooked(Self.directory(2)).contains(Self.directory(3)))
    }
}
