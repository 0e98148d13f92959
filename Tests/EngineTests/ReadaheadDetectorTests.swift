import Testing

@testable import Engine

@Suite("Looking ahead in a directory")
struct ReadaheadDetectorTests {
    private static let directory = InodeNumber(rawValue: 7)
    private var walks = ReadaheadDetector()

    private mutating func note(_ cookie: Int64, at now: Duration = .zero) -> Int {
        walks.note(Self.directory, cookie: cookie, at: now)
    }

    @Test mutating func `a single look asks for nothing else`() {
        #expect(note(5) == 0)
        #expect(note(5, at: .seconds(1)) == 0)
    }

    /// Goal: `ls -l` waits for one round trip less.
    @Test mutating func `a look at the first name asks for some more`() {
        #expect(walks.note(Self.directory, cookie: 1, isFirst: true, at: .zero) == 8)
        #expect(walks.note(Self.directory, cookie: 1, isFirst: true, at: .seconds(1)) == 0)
        #expect(note(2, at: .seconds(1)) == 64)
    }

    /// Goal: each name is asked for ahead, and the store gets a few questions at a time.
    @Test mutating func `a walk looks further and further ahead, and no name is left out`() {
        var asked: Set<Int64> = []
        var missed = 0
        var counts: [Int] = []
        for cookie in Int64(1)...1_000 {
            if !asked.contains(cookie) { missed += 1 }
            let count = note(cookie)
            if count > 0 { counts.append(count) }
            asked.formUnion(cookie..<(cookie + Int64(count) + 1))
        }
        #expect(missed == 2)
        #expect(counts.prefix(3) == [8, 64, 512])
        #expect(counts.max() == ReadaheadDetector.countMax)
        #expect(counts.count < 10, "neither is the database asked at each step")
    }

    @Test mutating func `names that there was no room for are asked for again`() {
        #expect((1...5).map { note($0) } == [0, 8, 64, 512, 0])
        walks.noteNoRoom(in: Self.directory)
        #expect(note(6) == 512)
        #expect(note(7) == 0)
    }

    @Test mutating func `looks here and there ask for nothing else`() {
        var random = UInt64(1)
        var count = 0
        for _ in 0..<1_000 {
            random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            count += note(Int64(random >> 44))
        }
        #expect(count == 0)
    }

    @Test mutating func `threads of one program that overtake each other are one walk`() {
        _ = note(1)
        let counts = [2, 4, 3, 6, 5, 8, 7].map { note($0) }
        #expect(counts.contains(64))
    }

    @Test mutating func `a walk that rested begins anew`() {
        _ = note(1)
        #expect(note(2) == 8)
        #expect(note(3, at: .seconds(10)) == 0)
    }

    @Test mutating func `directories do not disturb each other, and only some are remembered`() {
        var now: Duration = .zero
        for cookie in Int64(1)...8 {
            for directory in Int64(1)...100 {
                now += .milliseconds(1)
                // More than are remembered.
                let inode = InodeNumber(rawValue: directory)
                #expect(walks.note(inode, cookie: cookie, at: now) == 0)
            }
        }
        for cookie in Int64(9)...16 {
            for directory in Int64(1)...2 {
                now += .milliseconds(1)
                _ = walks.note(InodeNumber(rawValue: directory), cookie: cookie, at: now)
            }
        }
        #expect(walks.note(InodeNumber(rawValue: 1), cookie: 17, at: now) == 0, "asked for already")
        #expect(walks.note(InodeNumber(rawValue: 2), cookie: 400, at: now) > 0)
    }

    @Test
    mutating func `the first file of a directory tells, if others were walked through before`() {
        #expect(
            walks.note(Self.directory, cookie: 1, isOfWalk: true, at: .zero)
                == ReadaheadDetector.countMax)
        #expect(note(2) == 0, "asked for already")
    }
}
