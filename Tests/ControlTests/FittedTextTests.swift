import Foundation
import Testing

@testable import Control

/// Goal: lists for people stay short and within the width of the terminal, whatever they list.
struct FittedTextTests {
    private let later = Sample.start + 125

    @Test(arguments: [("abc", 3), ("中文", 4), ("한글", 4), ("e\u{301}", 1), ("😀", 2), ("…", 1)])
    func `a text has the columns that a terminal gives it`(text: String, columns: Int) {
        #expect(text.width == columns)
    }

    @Test func `wide characters count as two columns when a text is shortened`() {
        #expect("中中中中.jpg".shortened(to: 9) == "中中….jpg")
        #expect("中中中中.jpg".cut(to: 8) == "中中中…")
        #expect("中中".shortened(to: 4) == "中中" && "中中".shortened(to: 0) == "…")
        var written = ""
        var line = ProgressLine(style: .terminal(columns: 6)) { written += $0 }
        line.show("中中中")
        #expect(written == "\r\u{1B}[2K中中")
    }

    @Test func `a sentence is wrapped between words`() {
        #expect("  one two three".wrapped(to: 9) == ["  one two", "    three"])
        #expect("one \(String(repeating: "x", count: 20))".wrapped(to: 9) == ["one", "    xxxx…"])
        #expect("one".wrapped(to: 3) == ["one"] && "".wrapped(to: 3) == [""])
    }

    @Test func `paths give way to words, and short paths to long ones`() {
        let long = String(repeating: "x", count: 50)
        let line = TextLine([.path("a/b"), .words("  ("), .path(long), .words(", and more)")])
        #expect(line.shortened(to: 67) == "a/b  (\(long), and more)")
        #expect(line.shortened(to: 40) == "a/b  (\(long.shortened(to: 23)), and more)")
        #expect(line.shortened(to: 10) == "a/b  (\(long.shortened(to: 17)), and more)")
        #expect(line.fitted(to: 10) == "a/b  (xxx…")
    }

    /// Failures name the path twice, conflicts two paths, and a held deletion has a long remedy.
    @Test(arguments: [40, 80, 132], ["x", "中"])
    func `no line of a summary is wider than the terminal`(columns: Int, letter: String) {
        let path = "dir/" + String(repeating: letter, count: 3_000) + "/last.jpg"
        var report = report(failures: 1, conflicts: 1, held: 1, transfers: 1) { "\(path)\($0)" }
        report.counts.held = HeldCounts(items: 417, directories: 3, inDirectories: 412)
        report.lostAndFound = LostAndFound(files: 2, path: path)
        let text = report.text(now: later, extent: .summary(columns: columns))
        let lines = text.split(separator: "\n").map(String.init)
        #expect(lines.allSatisfy { $0.width <= columns }, "\(text)")
        #expect(lines[0].width > columns - 3)
        let items = lines.drop { !$0.hasPrefix("  failed") }.filter { !$0.hasPrefix("   ") }
        #expect(items.count == 4 && items.allSatisfy { $0.contains("  dir/") }, "\(text)")
        #expect(text.contains("no room; ask, 3 attempts"), "\(text)")
        #expect(columns < 80 || text.contains(", `apus resolve` decides"), "\(text)")
    }

    @Test func `a note that does not fit beside its path has a line of its own`() {
        var report = Sample.clean
        report.items = [
            StatusItem(
                path: "dir/file", state: .dirty, bytes: 5, attempts: 3,
                error: Problem(
                    what: "upload \"dir/file\"", why: "no room on the remote",
                    remedy: "free some space"))
        ]
        func end(columns: Int) -> ArraySlice<Substring> {
            report.text(now: later, extent: .summary(columns: columns)).split(separator: "\n")
                .dropFirst(3)
        }
        let note = "no room on the remote; free some space, 3 attempts"
        #expect(end(columns: 80) == ["  failed  5 B  dir/file  (\(note))"])
        #expect(end(columns: 60) == ["  failed  5 B  dir/file", "      \(note)"])
        #expect(
            end(columns: 40)
                == ["  failed  5 B  dir/file", "      no room on the remote; free some …"])
    }

    @Test func `without a width only paths are shortened`() {
        let path = "dir/" + String(repeating: "x", count: 3_000) + "/last.jpg"
        let report = report(failures: 1, conflicts: 1, held: 1) { "\(path)\($0)" }
        let text = report.text(now: later, extent: .summary(columns: nil))
        #expect(text.hasPrefix("/mnt/\(path)  folder:/\(path)\n"))
        #expect(text.contains("(no room; ask, 3 attempts)"), "\(text)")
        #expect(text.contains("removes it here too; put it back on the remote"), "\(text)")
        let lines = text.split(separator: "\n").dropFirst()
        #expect(lines.allSatisfy { $0.count < 250 }, "\(text)")
    }

    @Test func `each kind of item is seen among many failures`() {
        func shown(_ report: StatusReport) -> [String: Int] {
            let text = report.text(now: later, extent: .summary(columns: 250))
            let words = text.split(separator: "\n").dropFirst(3)
                .compactMap { $0.split(separator: " ").first }
            return Dictionary(grouping: words, by: { String($0) }).mapValues(\.count)
        }
        let many = report(failures: 1_500, conflicts: 30, held: 400, transfers: 30)
        #expect(
            shown(many) == ["failed": 1, "held": 1, "conflict": 13, "uploading": 5, "and": 1])
        #expect(
            many.text(now: later, extent: .summary(columns: 80))
                .hasSuffix("\n  and 42 more; `apus status --all` lists them"))
        let two = report(failures: 1_500, conflicts: 30)
        #expect(shown(two) == ["failed": 1, "conflict": 19, "and": 1])
        #expect(shown(report(failures: 3)) == ["failed": 3])
        #expect(shown(report()) == [:])
    }

    @Test func `items with the same reason share a row, with their number and the first paths`() {
        var report = report(failures: 5, held: 4)
        report.items[4].error?.why = "too long"
        let text = report.text(now: later, extent: .summary(columns: 200))
        let rows = text.split(separator: "\n").dropFirst(3).map(String.init)
        #expect(rows.count == 3, "\(text)")
        #expect(rows[0].contains("  4 items: ") && rows[0].contains(" and 1 more  ("), "\(text)")
        #expect(rows[1].contains("too long"))
        #expect(rows[2].hasPrefix("  held") && rows[2].contains("  4 items: "), "\(text)")
        #expect(report.text(now: later).split(separator: "\n").count == 3 + 9)
    }

    @Test func `a sync lists 20 failures, shortened`() {
        let name = "dir/" + String(repeating: "x", count: 2_400)
        var progress = SyncProgress(unsent: 1_500, isDone: true)
        progress.failed = (0..<1_000).map { number in
            .init(
                path: "\(name)\(number)",
                error: Problem(what: "upload \"\(name)\(number)\"", why: "no room", remedy: "ask"))
        }
        let lines = progress.failureLines(columns: 80)
        #expect(lines.count == 21 && lines.dropLast().allSatisfy { $0.count == 80 }, "\(lines)")
        #expect(lines[0].hasPrefix("failed dir/x") && lines[0].hasSuffix("x0: no room; ask"))
        #expect(lines[20] == "and 1480 more; `apus status --all` lists them")
        #expect(progress.failureLines(columns: nil)[0] == "failed \(name)0: no room; ask")

        progress.failed = [.init(path: "", error: Problem(what: "log in", why: "no such key"))]
        #expect(progress.failureLines(columns: 80) == ["failed log in: no such key"])
    }

    @Test func `one mount of several takes one line, with shortened paths`() {
        let path = String(repeating: "x", count: 300)
        let lines = report { _ in path }.overview(now: Sample.start, columns: 100)
        #expect(lines.count == 1 && lines[0].width == 100, "\(lines)")
        #expect(
            lines[0].hasSuffix("x  online  Everything is on the remote. 0 B on this disk."),
            "\(lines)")
    }

    /// - Parameter path: Returns the path of an item with a number.
    private func report(
        failures: Int = 0, conflicts: Int = 0, held: Int = 0, transfers: Int = 0,
        path: (Int) -> String = { "\($0)" }
    ) -> StatusReport {
        var report = Sample.clean
        report.mountPoint = "/mnt/" + path(0).replacing(#/\d+$/#, with: "")
        report.source = "folder:/" + path(0).replacing(#/\d+$/#, with: "")
        report.items =
            (0..<failures).map {
                StatusItem(
                    path: path($0), state: .dirty, attempts: 3,
                    error: Problem(
                        what: "upload \"\(path($0))\"", why: "no room", remedy: "ask"))
            }
            + (0..<held).map {
                StatusItem(
                    path: path($0), state: .dirty,
                    error: Problem(
                        what: "apply the remote deletion", why: "bulk deletion on the remote",
                        remedy: "`apus confirm-deletions` removes it here too; "
                            + "put it back on the remote to keep it"))
            }
            + (0..<transfers).map {
                StatusItem(path: path($0), state: .uploading, operation: .upload)
            }
            + (0..<conflicts).map {
                StatusItem(
                    path: path($0), state: .local, operation: .conflict, conflictsWith: path($0))
            }
        return report
    }
}
