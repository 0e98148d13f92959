import Testing

@testable import Engine

@Suite("The pace of listings for reports")
struct ReportPaceTests {
    /// Lists a directory that changes all the time at each moment at which that is due.
    private func pauses(count: Int, busy: Duration, hasNews: Bool) -> [Duration] {
        var pace = ReportPace()
        var now = Duration.seconds(100)
        return (0..<count).map { _ in
            let report = now
            pace.noteListing(for: report, busy: busy, hasNews: hasNews, at: now)
            let due = pace.due(reportedAt: report, lastAt: report)
            defer { now = due }
            return due - now
        }
    }

    /// Goal: a change is seen within half a second, also if others went before it.
    @Test func `grows while changes go on, and less than to half a second if they are others'`() {
        let pauses = pauses(count: 4, busy: .milliseconds(1), hasNews: true)
        #expect(pauses == [200, 400, 400, 400].map { .milliseconds($0) })
    }

    @Test func `grows to 20 times the duration of a listing that has news`() {
        let pauses = pauses(count: 5, busy: .milliseconds(100), hasNews: true)
        #expect(pauses == [400, 800, 1_600, 2_000, 2_000].map { .milliseconds($0) })
    }

    /// Goal: 1,000 uploads into a directory, however slow, cause few listings of it.
    @Test func `grows to half a minute while only our own changes are reported`() {
        let pauses = pauses(count: 9, busy: .milliseconds(1), hasNews: false)
        #expect(pauses.last == ReportPace.quietRestMax)
        var pace = ReportPace()
        var (listings, next) = (0, Duration.zero)
        for upload in 0..<1_000 {
            let now = Duration.milliseconds(upload * 500)
            guard pace.due(reportedAt: next, lastAt: next) <= now else { continue }
            listings += 1
            pace.noteListing(for: now, busy: .milliseconds(1), hasNews: false, at: now)
            next = now
        }
        #expect(listings < 30, "\(listings)")
    }

    @Test func `is the first one again after a pause without changes`() {
        var pace = ReportPace()
        var now = Duration.seconds(1)
        for _ in 0..<8 {
            pace.noteListing(for: now, busy: .milliseconds(1), hasNews: true, at: now)
            now = pace.due(reportedAt: now, lastAt: now)
        }
        now += .seconds(10)
        #expect(pace.due(reportedAt: now, lastAt: now) == now + ReportPace.settleTime)
        pace.noteListing(for: now, busy: .milliseconds(1), hasNews: true, at: now)
        #expect(pace.due(reportedAt: now, lastAt: now) == now + ReportPace.restMin)
    }

    @Test func `is bounded to a fifth of the time for a directory that takes long`() {
        let pauses = pauses(count: 1, busy: .seconds(2), hasNews: true)
        #expect(pauses == [.seconds(8)])
    }

    /// Goal: files that are written, or removed, one after the other are listed together.
    @Test func `waits for the end of a series of changes, but not for long`() {
        let pace = ReportPace()
        let start = Duration.seconds(1)
        #expect(
            pace.due(reportedAt: start, lastAt: start + .milliseconds(60))
                == start + .milliseconds(110))
        #expect(
            pace.due(reportedAt: start, lastAt: start + .milliseconds(240))
                == start + .milliseconds(250))
    }
}
