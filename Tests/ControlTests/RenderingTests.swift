import Foundation
import Testing

@testable import Control

/// Texts other than those of a status.
struct RenderingTests {
    @Test func `names in messages do not control the terminal`() {
        let problem = Problem(what: "pin \"a\u{1B}[2Jb\"", why: "it\nis", remedy: "\u{7}wait")
        #expect(problem.description == "pin \"a?[2Jb\": it is; ?wait")
        var report = EvictReport.nothing
        report.refused = [.init(path: "\u{1B}c", reason: "the folder \"\u{1B}c\" is pinned")]
        #expect(report.refusalLines == ["?c: the folder \"?c\" is pinned"])
    }

    @Test func `the progress of a pin tells how much is here, and what delays the rest`() {
        var progress = PinProgress()
        (progress.files, progress.bytes) = (3, 3 << 20)
        #expect(progress.line == "Counting: 3 files, 3.0 MiB so far")
        progress.isPinned = true
        (progress.filesMissing, progress.bytesMissing) = (1, 1 << 20)
        #expect(progress.line == "2.0 MiB of 3.0 MiB are here, 1 file to go")
        progress.failed = [.init(path: "a", error: Problem(what: "read \"a\"", why: "denied"))]
        #expect(progress.line == "2.0 MiB of 3.0 MiB are here, 1 file to go, a: denied")
        (progress.filesMissing, progress.bytesMissing, progress.failed) = (0, 0, [])
        #expect(progress.line == "Pinned 3 files, 3.0 MiB, all of it here")
        #expect(
            Sample.pins.pins[0].line
                == "a  4.0 KiB, 3 files, 1 of them to be fetched (1.0 KiB)")
    }

    @Test func `a sync that took too long lists what waits, since when and until when`() {
        var progress = SyncProgress(isDone: true)
        progress.isTimedOut = true
        progress.pending = 4
        let now = Sample.start.addingTimeInterval(300)
        progress.waiting = [
            .init(
                path: "b/full.mov",
                error: Problem(what: "upload \"b/full.mov\"", why: "no room", remedy: "free some"),
                attempts: 3, retryAt: now.addingTimeInterval(19.5), since: Sample.start),
            .init(
                path: "a.jpg", error: Problem(what: "send \"a.jpg\"", why: "it waits for its turn"),
                attempts: 0, retryAt: nil, since: Sample.start),
        ]
        #expect(
            progress.timeoutLines(columns: nil, now: now) == [
                "waiting b/full.mov: no room; free some (for 5 min, retried in 20 s)",
                "waiting a.jpg: it waits for its turn (for 5 min)",
                "and 2 more; `apus status --all` lists them",
            ])
        #expect(progress.timeoutLines(columns: 30, now: now).allSatisfy { $0.count <= 50 })
        progress.isTimedOut = false
        #expect(progress.timeoutLines(columns: nil, now: now) == [])
    }

    @Test func `rejected deletions are a sentence, and what is left is a reason`() {
        var report = Sample.rejections[1]
        #expect(report.line == "Sending again what the remote deleted: 120 items.")
        #expect(
            report.leftReason
                == "not all bytes of 2 files are on this machine: a, 'b'$'\\n'")
        (report.broughtBack, report.left, report.leftPaths) = (1, 0, [])
        #expect(
            report.line
                == "Sending again what the remote deleted: 120 items; "
                + "bringing back what was deleted here: 1 item.")
        #expect(report.leftReason == nil)
        report.sentAgain = 0
        #expect(report.line == "Bringing back what was deleted here: 1 item.")
        report.broughtBack = 0
        #expect(report.line == "No deletions were waiting.")
    }

    @Test func `a line of the trash has the days that are left`() throws {
        let utc = try #require(TimeZone(secondsFromGMT: 0))
        let later = Sample.start.addingTimeInterval(2.5 * 86_400)
        #expect(
            "\(TrashItem.head)\n\(Sample.trashed.line(now: later, timeZone: utc))" == """
                Deleted           Days left       Size  Path
                2027-01-15 08:00         27    4.0 KiB  a/b.jpg
                """)
    }

    @Test func `the progress of a restore names what has another name, or is not back`() {
        var progress = RestoreProgress()
        (progress.files, progress.bytes) = (2, 4096)
        #expect(progress.line == "2 files (4.0 KiB) are back so far")
        #expect(progress.told(columns: nil) == [])
        progress.restored = [
            .init(path: "a", to: "a"), .init(path: "b", to: "b (2)", isRenamed: true),
        ]
        progress.failed = [
            .init(path: "c", error: Problem(what: "restore \"c\"", why: "it is gone"))
        ]
        #expect(
            progress.told(columns: nil) == [
                "The name was taken: b is now b (2)", "c: it is gone",
            ])
        progress.isDone = true
        #expect(progress.line == "2 files (4.0 KiB) are back; what is back is sent to the remote")
    }

    @Test func `progress is that of the upload, else of the download, rounded down`() {
        func percent(_ state: StatusItem.State, of bytes: UInt64, sent: UInt64, here: UInt64?)
            -> Int
        {
            StatusItem(path: "a", state: state, bytes: bytes, bytesSent: sent, bytesHere: here)
                .percent
        }
        #expect(percent(.uploading, of: 1000, sent: 129, here: 500) == 12)
        #expect(percent(.partial, of: 3 << 20, sent: 0, here: 1 << 20) == 33)
        #expect(percent(.dirty, of: 2, sent: 3, here: nil) == 100)
        #expect(percent(.dirty, of: 0, sent: 0, here: nil) == 0)
    }

    @Test func `a sync's progress names what is being sent`() {
        let progress = SyncProgress(
            pending: 3, bytesPending: 1536, uploading: [.init(path: "a", percent: 7)])
        #expect(progress.line == "3 changes (1.5 KiB) to go; a: uploading 7 %")
        var resting = progress
        resting.resting = "they rest"
        #expect(resting.line == "3 changes (1.5 KiB) to go; a: uploading 7 %; they rest")
        #expect(
            SyncProgress(bytesSent: 2048, isDone: true).line
                == "Everything is on the remote, 2.0 KiB sent")
        #expect(
            SyncProgress(pending: 1, bytesPending: 5, isDone: true).line
                == "1 change (5 B) not yet on the remote")
        #expect(
            SyncProgress(held: 3, isDone: true).line
                == "Every change is on the remote; 3 deletions there are held")
        #expect(
            SyncProgress(pending: 2, bytesPending: 5, open: 2, isDone: true).line
                == "Every change is on the remote; 2 files are still open for writing"
        )
        #expect(
            SyncProgress(pending: 3, bytesPending: 5, unsent: 1, open: 2, isDone: true).line
                == "1 change (5 B) not yet on the remote, 1 could not be sent")
        #expect(
            SyncProgress(pending: 3, bytesPending: 5, unsent: 2, isDone: true).line
                == "3 changes (5 B) not yet on the remote, 2 could not be sent")
    }

    @Test func `a sync's progress names the reason of a delay`() {
        let wait = SyncProgress.Wait(
            path: "a", error: Problem(what: "upload \"a\"", why: "status 500"), attempts: 4,
            retryAt: Sample.start.addingTimeInterval(12))
        var progress = SyncProgress(pending: 2, bytesPending: 5, waiting: [wait])
        #expect(
            progress.line(now: Sample.start)
                == "2 changes (5 B) to go; a: status 500 (retried in 12 s)")
        #expect(
            progress.line(now: Sample.start.addingTimeInterval(12))
                == "2 changes (5 B) to go; a: status 500 (retried now)")
        progress.unreachable = Problem(
            what: "reach it", why: "the remote has not answered for 9 s (gone)")
        #expect(
            progress.line(now: Sample.start)
                == "2 changes (5 B) to go; the remote has not answered for 9 s (gone)")
        (progress.unreachable, progress.waiting) = (nil, nil)
        progress.queued = [
            .init(
                path: "b", error: Problem(what: "send \"b\"", why: "it waits for its turn"),
                attempts: 0, retryAt: nil, since: Sample.start)
        ]
        #expect(
            progress.line(now: Sample.start.addingTimeInterval(12))
                == "2 changes (5 B) to go; b: it waits for its turn (for 12 s)")
    }

    @Test func `a problem is one line`() {
        let problem = Problem(what: "upload", why: "it said:\nno", remedy: "ask")
        #expect(problem.description == "upload: it said: no; ask")
    }

    @Test(
        arguments: [
            (0, "0 B"), (999, "999 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1536, "1.5 KiB"),
            (102_399, "100 KiB"), (1_048_575, "1.0 MiB"), (20 << 30, "20.0 GiB"),
            (UInt64.max, "16.0 EiB"),
        ] as [(UInt64, String)])
    func `sizes have at most three digits`(bytes: UInt64, text: String) {
        #expect(HumanSize.format(bytes) == text)
    }

    @Test(
        arguments: [
            ("0", 0), ("20GiB", 20 << 30), ("20g", 20 << 30), ("1.5 MB", 3 << 19), ("7b", 7),
            ("", nil), ("GiB", nil), ("1Q", nil), ("-1", nil), ("99EiB", nil), ("1.2.3K", nil),
        ] as [(String, UInt64?)])
    func `sizes are read as people write them`(text: String, bytes: UInt64?) {
        #expect(HumanSize.parse(text) == bytes)
    }

    @Test(
        arguments: [
            ("30s", .seconds(30)), ("5m", .seconds(300)), ("250ms", .milliseconds(250)),
            ("45", .seconds(45)), ("1h", .seconds(3600)), ("s", nil), ("3 weeks", nil),
            ("-1s", nil),
        ] as [(String, Duration?)])
    func `durations are read as people write them`(text: String, duration: Duration?) {
        #expect(HumanDuration.parse(text) == duration)
    }

    @Test func `a change is a line with both paths, and where it was made`() throws {
        let utc = try #require(TimeZone(identifier: "UTC"))
        #expect(
            Sample.change.line(timeZone: utc)
                == "2027-01-15 08:00:00  moved     a -> b c  (remote)")
        #expect(ChangeEvent(cursor: "h.1").line() == nil)
    }

    @Test(arguments: [
        ([""], true), (["a"], true), (["a/b/c"], true), (["ab"], false),
        (["b c"], true), (["b"], false), (["x", "a"], true),
        ([], false),
    ])
    func `a change concerns the paths that it is below, before or after`(
        paths: [String], isBelow: Bool
    ) {
        var event = Sample.change
        #expect(event.isBelow(paths) == isBelow)
        event.path = "b c/d"
        #expect(event.isBelow(paths) == isBelow)
    }

    @Test func `programs are told with their largest files`() {
        #expect(
            Sample.programs.text(columns: nil) == """
                thumb er: 5.0 MiB of 3 files
                  4.0 MiB  a b
                  512 KiB  c
                  and 1 other
                apus: 1 B of over 10 files
                """)
        #expect(
            ProgramsReport(mountPoint: "/m", programs: []).text(columns: nil)
                == "No program has had anything fetched in the last hour.")
    }
}
