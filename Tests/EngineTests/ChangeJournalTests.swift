import Testing

@testable import Engine

@Suite("A journal of changes")
struct ChangeJournalTests {
    private let one = ObjectKey(["one"].compactMap { FileName($0) })
    private let two = ObjectKey(["two"].compactMap { FileName($0) })

    private struct NoReport: Error {}

    private func take(
        _ journal: inout ChangeJournal, since anchor: ChangeAnchor?
    ) throws -> ChangeReport {
        guard let report = journal.report(since: anchor) else { throw NoReport() }
        return report
    }

    @Test func `repeats a report until its anchor comes back, and skips nothing`() throws {
        var journal = ChangeJournal(nonce: "a")
        let start = try take(&journal, since: nil)
        #expect(start.directories == [] && !start.mayHaveMissed)
        #expect(journal.report(since: start.anchor) == nil)
        journal.note(one)
        let first = try take(&journal, since: start.anchor)
        #expect(first.directories == [one])
        journal.note(two)
        let second = try take(&journal, since: start.anchor)
        #expect(second.directories == [one, two])
        let rest = try take(&journal, since: first.anchor)
        #expect(rest.directories == [two])
        #expect(journal.report(since: rest.anchor) == nil)
    }

    @Test func `reports a directory once for many changes, and again for each later one`() throws {
        var journal = ChangeJournal(nonce: "a")
        for _ in 0..<10 { journal.note(one) }
        let first = try take(&journal, since: nil)
        #expect(first.directories == [one])
        journal.note(one)
        #expect(journal.report(since: first.anchor)?.directories == [one])
    }

    @Test func `says that it may have missed changes for an anchor of another process`() throws {
        var old = ChangeJournal(nonce: "a")
        old.note(one)
        let anchor = try take(&old, since: nil).anchor
        var new = ChangeJournal(nonce: "b")
        let report = try take(&new, since: anchor)
        #expect(report.mayHaveMissed)
        #expect(new.report(since: report.anchor) == nil)
        #expect(new.report(since: ChangeAnchor("nonsense"))?.mayHaveMissed == true)
    }

    @Test func `is bounded, and then says that it may have missed changes`() throws {
        var journal = ChangeJournal(nonce: "a")
        let start = try take(&journal, since: nil).anchor
        for number in 0...ChangeJournal.directoriesMax {
            journal.note(ObjectKey([try #require(FileName("\(number)"))]))
        }
        let report = try take(&journal, since: start)
        #expect(report.mayHaveMissed && report.directories == [])
        #expect(journal.report(since: report.anchor) == nil)
    }
}
