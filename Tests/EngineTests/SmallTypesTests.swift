import Testing

@testable import Engine

@Suite("A file name")
struct FileNameTests {
    @Test func `has 1 to 255 bytes without slash and NUL, and is neither dot nor dot-dot`() {
        #expect(FileName("") == nil)
        #expect(FileName(".") == nil)
        #expect(FileName("..") == nil)
        #expect(FileName("a/b") == nil)
        #expect(FileName([97, 0]) == nil)
        #expect(FileName(String(repeating: "x", count: 256)) == nil)
        #expect(FileName("...") != nil)
        #expect(FileName([0xFF, 0xFE]) != nil)
    }

    @Test func `is its bytes: equivalent Unicode is another name`() {
        #expect(FileName("\u{E9}") != FileName("e\u{301}"))
    }
}

@Suite("A time stamp")
struct TimestampTests {
    @Test func `splits into seconds and nanoseconds of the second, before 1970 too`() {
        let before = Timestamp(nanoseconds: -1)
        #expect(before.seconds == -1)
        #expect(before.nanosecondsOfSecond == 999_999_999)
        let after = Timestamp(seconds: 5, nanoseconds: 7)
        #expect((after.seconds, after.nanosecondsOfSecond) == (5, 7))
        #expect(Timestamp(seconds: .max).nanoseconds == .max)
        #expect(Timestamp(seconds: .min).nanoseconds == .min)
        #expect(Timestamp(seconds: .min).nanosecondsOfSecond == 145_224_192)
    }
}

@Suite("The name of a conflict")
struct ConflictNameTests {
    private let time = Timestamp(seconds: 1_709_164_800)  // 2024-02-29

    private func name(_ text: String, attempt: Int = 0) -> String? {
        FileName(text).map {
            ConflictName.make(of: $0, host: "wren", at: time, attempt: attempt).description
        }
    }

    @Test func `keeps the extension, and names host and day`() {
        #expect(name("a.tar.gz") == "a.tar (conflict wren 2024-02-29).gz")
        #expect(name("README") == "README (conflict wren 2024-02-29)")
        #expect(name(".profile") == ".profile (conflict wren 2024-02-29)")
        #expect(name("a.txt", attempt: 1) == "a (conflict wren 2024-02-29 2).txt")
    }

    @Test func `of a conflict's name is another of the first name`() {
        #expect(
            name("a (conflict vm 2026-11-22 5) (conflict vm 2026-11-22).txt", attempt: 2)
                == "a (conflict wren 2024-02-29 3).txt")
        #expect(name("a (conflict of laws)") == "a (conflict of laws) (conflict wren 2024-02-29)")
        #expect(
            name(" (conflict vm 2026-11-22)")
                == " (conflict vm 2026-11-22) (conflict wren 2024-02-29)")
    }

    @Test func `fits 255 bytes, cut between characters`() {
        let long = String(repeating: "é", count: 125) + ".txt"
        let conflict = name(long)
        #expect((conflict?.utf8.count ?? 999) <= 255)
        #expect(conflict?.hasSuffix("é (conflict wren 2024-02-29).txt") == true)
    }

    @Test func `knows the calendar before 1970`() {
        let day = ConflictName.make(
            of: FileName(stored: [97]), host: "h", at: Timestamp(seconds: -1), attempt: 0)
        #expect(day.description == "a (conflict h 1969-12-31)")
    }
}

@Suite("Backing off")
struct BackoffTests {
    @Test func `doubles up to its bound, with jitter of up to a half`() {
        var backoff = Backoff(first: .seconds(1), longest: .seconds(4))
        #expect(
            (0..<4).map { _ in backoff.next { .max } }.map { $0 > .milliseconds(999) } == [
                true, true, true, true,
            ])
        var least = Backoff(first: .seconds(1), longest: .seconds(4))
        #expect(
            (0..<4).map { _ in least.next { 0 } } == [
                .milliseconds(500), .seconds(1), .seconds(2), .seconds(2),
            ])
        var later = Backoff(first: .seconds(1), longest: .seconds(300), attempts: 1_000)
        #expect(later.next { 0 } == .seconds(150))
    }
}

@Suite("Our activity on the remote")
struct RemoteActivityTests {
    private func key(_ path: String) -> ObjectKey {
        ObjectKey(path.split(separator: "/").compactMap { FileName(String($0)) })
    }

    private func claim(_ inode: Int64, _ paths: [String], isSubtree: Bool = false)
        -> RemoteActivity.Claim
    {
        RemoteActivity.Claim(
            inode: InodeNumber(rawValue: inode), keys: paths.map(key), isSubtree: isSubtree)
    }

    @Test func `operations on one key follow each other`() {
        let activity = RemoteActivity(names: .exact)
        let upload = claim(1, ["a/b"])
        #expect(activity.begin(upload) == nil)
        #expect(activity.begin(claim(2, ["a/b"])) == InodeNumber(rawValue: 1))
        #expect(activity.begin(claim(3, ["a/c"])) == nil)
        activity.end(upload)
        #expect(activity.begin(claim(2, ["a/b"])) == nil)
    }

    @Test func `a directory on its way keeps off what is below it`() {
        let activity = RemoteActivity(names: .exact)
        #expect(activity.begin(claim(1, ["a", "z"], isSubtree: true)) == nil)
        #expect(activity.begin(claim(2, ["a/b/c"])) == InodeNumber(rawValue: 1))
        #expect(activity.begin(claim(3, ["ab"])) == nil)
    }

    @Test func `a listing hears of what changes while it is under way`() {
        let activity = RemoteActivity(names: .exact)
        let before = claim(1, ["d/before"])
        #expect(activity.begin(before) == nil)
        let watch = activity.watch(key("d"))
        activity.end(before)
        #expect(activity.begin(claim(2, ["d/during"])) == nil)
        #expect(activity.isTouched(key("d/before"), watch))
        #expect(activity.isTouched(key("d/during"), watch))
        #expect(!activity.isTouched(key("d/other"), watch))
        #expect(!activity.isMoved(watch))
        #expect(activity.begin(claim(3, ["d", "e"], isSubtree: true)) == InodeNumber(rawValue: 2))
        activity.end(watch)
        #expect(activity.isMoved(watch), "a watch that has ended knows nothing")
    }
}

@Suite("The directories in use")
struct RefreshScheduleTests {
    private let directory = InodeNumber(rawValue: 5)

    @Test func `are listed when first used, and again after the interval`() {
        var used = RefreshSchedule(interval: .seconds(30))
        #expect(used.takeDue(at: .zero).due == [.root])
        used.end(.root, at: .zero)
        let isDue = used.note(directory, at: .seconds(1))
        #expect(isDue)
        #expect(used.takeDue(at: .seconds(1)).due == [directory])
        used.end(directory, at: .zero)
        let isDueAgain = used.note(directory, at: .seconds(2))
        #expect(!isDueAgain)
        let (due, next) = used.takeDue(at: .seconds(3))
        #expect(due == [] && next == .seconds(30))
        #expect(used.takeDue(at: .seconds(31)).due == [.root, directory])
    }

    @Test func `are left alone once nobody looks into them, but for the root`() {
        var used = RefreshSchedule(interval: .seconds(30))
        _ = used.note(directory, at: .zero)
        #expect(used.takeDue(at: .seconds(1_000)).due == [.root])
    }

    /// Goal: a directory whose uses the kernel answers from its caches is listed again once it is used.
    @Test func `are watched by the kernel once they count as unused, once each`() {
        var used = RefreshSchedule(interval: .seconds(30))
        _ = used.note(directory, at: .zero)
        #expect(used.takeIdle(at: .seconds(299)) == [])
        #expect(used.takeDue(at: .seconds(299)).next == .seconds(300))
        #expect(used.takeIdle(at: .seconds(300)) == [directory])
        #expect(used.takeIdle(at: .seconds(301)) == [])
        used.end(.root, at: .zero)
        used.end(directory, at: .zero)
        #expect(used.takeDue(at: .seconds(400)).due == [.root])
        let isDue = used.note(directory, at: .seconds(1_000))
        #expect(isDue)
        #expect(used.takeIdle(at: .seconds(1_299)) == [])
        #expect(used.takeIdle(at: .seconds(1_300)) == [directory])
    }

    @Test func `count as used for ten intervals if these are short`() {
        var used = RefreshSchedule(interval: .seconds(1))
        _ = used.note(directory, at: .zero)
        #expect(used.takeIdle(at: .milliseconds(9_999)) == [])
        #expect(used.takeIdle(at: .seconds(10)) == [directory])
    }

    /// Goal: a walk through a large tree does not leave directories that nothing keeps up to date.
    @Test func `are watched by the kernel when too many are in use`() {
        var used = RefreshSchedule(interval: .seconds(30))
        var watched: [InodeNumber] = []
        let directories = (2...5_000).map { InodeNumber(rawValue: $0) }
        for (time, directory) in directories.enumerated() {
            _ = used.note(directory, at: .milliseconds(time))
            watched += used.takeForgotten()
        }
        #expect(watched.count > 2_900)
        #expect(Set(watched).count == watched.count)
        watched += used.takeIdle(at: .seconds(1_000))
        let areAll = Set(watched) == Set(directories)
        #expect(areAll)
        #expect(used.takeDue(at: .seconds(1_000)).due == [.root])
    }

    /// Goal: the kernel caches attributes only of directories whose next use it will be told to report.
    @Test func `are kept fresh from a use until the kernel is told to report the next one`() {
        var used = RefreshSchedule(interval: .seconds(30))
        #expect(used.isKeptFresh(.root, at: .seconds(1_000)))
        #expect(!used.isKeptFresh(directory, at: .zero))
        _ = used.note(directory, at: .zero)
        #expect(used.isKeptFresh(directory, at: .seconds(299)))
        #expect(!used.isKeptFresh(directory, at: .seconds(300)))
        #expect(used.takeIdle(at: .seconds(300)) == [directory])
        #expect(!used.isKeptFresh(directory, at: .seconds(300)))
        for number in 100..<2_200 {
            _ = used.note(InodeNumber(rawValue: Int64(number)), at: .seconds(301))
        }
        let forgotten = used.takeForgotten()
        #expect(!forgotten.isEmpty)
        #expect(!forgotten.contains { used.isKeptFresh($0, at: .seconds(302)) })
    }

    /// Goal: a directory that was listed ahead of a walk is kept fresh from its first use on.
    @Test func `are not listed again after a listing ahead, until a program uses them`() {
        var used = RefreshSchedule(interval: .seconds(30))
        #expect(used.takeDue(at: .zero).due == [.root])
        used.end(.root, at: .zero)
        used.noteListing(directory, isAhead: true, at: .seconds(1))
        used.noteEnd(
            of: directory, begunAt: .seconds(1), busy: .seconds(1), hasNews: true, at: .seconds(2))
        // The kernel cannot have its attributes, and so need not be told.
        #expect(!used.isKeptFresh(directory, at: .seconds(2)))
        #expect(used.takeIdle(at: .seconds(2)) == [])
        #expect(used.takeDue(at: .seconds(20)) == (due: [], next: .seconds(30)))
        #expect(used.takeDue(at: .seconds(30)) == (due: [.root], next: .seconds(60)))
        // The refresher would otherwise wake up a second late.
        let isNext = used.note(directory, at: .milliseconds(30_500))
        #expect(isNext)
        #expect(used.isKeptFresh(directory, at: .milliseconds(30_500)))
        #expect(used.takeDue(at: .milliseconds(30_500)) == (due: [], next: .seconds(31)))
        #expect(used.takeDue(at: .seconds(31)).due == [directory])
    }

    @Test func `are listed at once when first used long after a listing ahead`() {
        var used = RefreshSchedule(interval: .seconds(30))
        used.noteListing(directory, isAhead: true, at: .zero)
        #expect(used.takeDue(at: .seconds(40)).due == [.root])
        let isDue = used.note(directory, at: .seconds(50))
        #expect(isDue)
        #expect(used.takeDue(at: .seconds(50)).due == [directory])
    }

    /// Goal: a directory that takes long to list is not listed without end.
    @Test func `are listed for a twentieth of the time, and less while they have no news`() {
        var used = RefreshSchedule(interval: .seconds(30))
        func due(from begin: Int, news hasNews: Bool) -> Duration {
            _ = used.note(directory, at: .seconds(begin))
            used.noteListing(directory, at: .seconds(begin))
            used.noteEnd(
                of: directory, begunAt: .seconds(begin), busy: .seconds(10), hasNews: hasNews,
                at: .seconds(begin + 10))
            var now = Duration.seconds(begin + 10)
            var isDue = false
            while !isDue {
                now += .seconds(10)
                isDue = used.note(directory, at: now)
            }
            let (started, _) = used.takeDue(at: now)
            #expect(started.contains(directory))
            used.end(directory, at: .zero)
            used.end(.root, at: .zero)
            return now - .seconds(begin + 10)
        }
        #expect(due(from: 0, news: true) == .seconds(200))
        let quiet = [10_000, 20_000, 30_000, 40_000].map { due(from: $0, news: false) }
        #expect(quiet == [400, 800, 1_600, 1_600].map { .seconds($0) })
        #expect(due(from: 50_000, news: true) == .seconds(200))
    }

    /// Goal: a directory that is listed in 1.5 s is listed every 30 s, and a slow answer now and then
    /// does not make it one that takes long.
    @Test func `are listed every interval if that is short, whatever single answers take`() {
        var used = RefreshSchedule(interval: .seconds(30))
        func due(from begin: Duration, taking busy: Duration) -> Duration {
            _ = used.note(directory, at: begin)
            used.noteListing(directory, at: begin)
            used.noteEnd(
                of: directory, begunAt: begin, busy: busy, hasNews: false, at: begin + busy)
            var pause = Duration.zero
            var isDue = false
            while !isDue {
                pause += .milliseconds(500)
                isDue = used.note(directory, at: begin + pause)
            }
            return pause
        }
        for begin in stride(from: 0, to: 200, by: 50) {
            #expect(due(from: .seconds(begin), taking: .milliseconds(1_500)) == .seconds(30))
        }
        for begin in [1_000, 2_000] {
            #expect(due(from: .seconds(begin), taking: .seconds(10)) == .seconds(410))
            let short = due(from: .seconds(begin + 500), taking: .milliseconds(500))
            #expect(short == .seconds(30))
        }
    }

    @Test func `keep the pause after a long listing beyond their use, an hour at most`() {
        var used = RefreshSchedule(interval: .seconds(30))
        _ = used.note(directory, at: .zero)
        used.noteEnd(
            of: directory, begunAt: .zero, busy: .seconds(100), hasNews: false, at: .seconds(100))
        #expect(!used.takeDue(at: .seconds(1_000)).due.contains(directory))
        let isDueEarly = used.note(directory, at: .seconds(3_699))
        #expect(!isDueEarly)
        let isDue = used.note(directory, at: .seconds(3_700))
        #expect(isDue)
    }

    @Test func `are listed a few at a time, and one that takes long not twice`() {
        var used = RefreshSchedule(interval: .seconds(30))
        let directories = (2...6).map { InodeNumber(rawValue: $0) }
        for directory in directories { _ = used.note(directory, at: .zero) }
        #expect(used.takeDue(at: .zero).due == [.root] + directories.prefix(3))
        #expect(used.takeDue(at: .zero).due == [])
        used.end(.root, at: .zero)
        #expect(used.takeDue(at: .seconds(1)).due == [directories[3]])
        used.end(directories[0], at: .zero)
        used.end(directories[3], at: .zero)
        #expect(used.takeDue(at: .seconds(2)).due == [directories[4]])
        used.end(directories[4], at: .zero)
        #expect(used.takeDue(at: .seconds(40)).due == [.root, directories[0]])
    }
}

@Suite("A provider's failure")
struct ProviderErrorTests {
    @Test func `is named after the call, unless it names its operation`() {
        let failure = ProviderError(.missing, "nothing has this name")
        #expect(failure.during(.stat(.root)).attempt == ProviderCall.stat(.root).description)
        let named = ProviderError(.busy, attempt: "move a directory", reason: "it is in use")
        #expect(named.during(.stat(.root)).attempt == "move a directory")
    }
}
