import Foundation
import Testing

@testable import Control

struct StatusTextTests {
    private let later = Sample.start + 125

    @Test func `a status with pending changes shows each with its reason`() {
        #expect(
            Sample.report.text(now: later) == """
                /mnt/cloud  folder:/srv/cloud
                  120 items, 5.0 MiB on this disk
                3 changes (3.0 MiB) not yet on the remote, 1 failed.
                  failed          2.0 MiB  b/full.mov  (upload "b/full.mov": no room on the remote; \
                free some space there, 3 attempts for 2 min)
                  uploading 12 %   1000 B  a.jpg  (for 2 min)
                  dirty               0 B  new  (for 2 min)
                """)
    }

    @Test func `a file that is fetched shows how much of it is here`() throws {
        var report = Sample.clean
        report.items = [
            StatusItem(
                path: "a.mov", state: .partial, operation: .download, bytes: 3 << 20,
                bytesHere: 1 << 20, percent: 33, since: nil)
        ]
        #expect(
            report.text(now: later).hasSuffix("  downloading 33 %  1.0 MiB of 3.0 MiB  a.mov"))
        let json = String(decoding: try ControlJSON.encode(report), as: UTF8.self)
        #expect(json.contains(#""bytesHere":1048576,"bytesSent":0,"operation":"download""#))
        #expect(try ControlJSON.decode(StatusReport.self, from: Data(json.utf8)) == report)
    }

    @Test func `a status tells what is pinned, and why something of it is not here`() throws {
        var report = Sample.clean
        #expect(!report.text(now: later).contains("Pinned"))
        var pins = PinCounts()
        (pins.items, pins.files, pins.bytes) = (2, 120, 3 << 20)
        report.pins = pins
        #expect(
            report.text(now: later).contains(
                "\n  Pinned: 2 items with 120 files, 3.0 MiB, all here\n"))
        (pins.filesMissing, pins.bytesMissing) = (1, 1 << 20)
        pins.hindrance = Problem(
            what: "fetch the pinned files", why: "the cache is full", remedy: "unpin some")
        pins.failed = [.init(path: "a/b", error: Problem(what: "read \"a/b\"", why: "denied"))]
        report.pins = pins
        #expect(
            report.text(now: later).contains(
                """
                  Pinned: 2 items with 120 files, 3.0 MiB, 1.0 MiB of 1 file still to be fetched
                  Pinned files are not fetched: the cache is full; unpin some
                  A pinned file is not here: a/b: denied

                """))
        let json = try ControlJSON.encode(report)
        #expect(try ControlJSON.decode(StatusReport.self, from: json) == report)
        pins.isCounting = true
        report.pins = pins
        #expect(report.text(now: later).contains("3.0 MiB, still being counted\n"))
    }

    @Test func `a large file that is open for writing says when it is uploaded`() throws {
        var report = Sample.clean
        report.items = [
            StatusItem(path: "disk.img", state: .dirty, bytes: 3 << 20, awaitsPause: true)
        ]
        #expect(
            report.text(now: later).hasSuffix(
                "disk.img  (open for writing, to be uploaded in a pause or when closed)"))
        report.items[0].isOpenAndSent = true
        #expect(
            report.text(now: later).hasSuffix(
                "disk.img  (open for writing, all of it so far is on the remote)"))
        (report.counts.pending, report.counts.open) = (1, 1)
        #expect(
            report.summary == "Every change is on the remote; 1 file is still open for writing.")
        report.counts.pending = 2
        #expect(report.summary.hasPrefix("1 change ("), "the other one is not there")
        let json = String(decoding: try ControlJSON.encode(report), as: UTF8.self)
        #expect(json.contains(#""awaitsPause":true"#) && json.contains(#""openAndSent":true"#))
        #expect(try ControlJSON.decode(StatusReport.self, from: Data(json.utf8)) == report)
        (report.items[0].awaitsPause, report.items[0].isOpenAndSent) = (false, false)
        let other = String(decoding: try ControlJSON.encode(report), as: UTF8.self)
        #expect(!other.contains("awaitsPause") && !other.contains("openAndSent"))
    }

    @Test(
        arguments: [
            (StatusItem.Operation.upload, "uploading 50 %"), (.delete, "deleting"),
            (.move, "moving"), (.create, "creating"), (.attributes, "updating"),
        ])
    func `what is done on the remote is named`(operation: StatusItem.Operation, word: String) {
        var report = Sample.clean
        report.items = [
            StatusItem(
                path: "a", state: .uploading, operation: operation, bytes: 2, bytesSent: 1,
                percent: 50)
        ]
        #expect(report.text(now: later).hasSuffix("  \(word)  2 B  a"))
    }

    @Test func `the bound of local copies is shown`() throws {
        var report = Sample.clean
        report.cacheBytesMax = 20 << 30
        #expect(
            report.text(now: later).contains("\n  1 item, 0 B of at most 20.0 GiB on this disk\n"))
        let json = String(decoding: try ControlJSON.encode(report), as: UTF8.self)
        #expect(json.contains(#""cacheBytesMax":21474836480"#))
    }

    @Test func `a clean status says that everything is on the remote`() {
        #expect(
            Sample.clean.text(now: later) == """
                /mnt/cloud  folder:/srv/cloud
                  1 item, 0 B on this disk
                Everything is on the remote.
                """)
    }

    @Test func `a summary has at most 20 rows, those that need attention first`() {
        var report = Sample.clean
        report.counts.pending = 500
        let waiting = (0..<480).map { StatusItem(path: "w\($0)", state: .dirty) }
        let reason = Problem(what: "upload", why: "not allowed")
        report.items =
            waiting + [
                StatusItem(path: "up", state: .uploading, operation: .upload, bytes: 2),
                StatusItem(
                    path: "mine", state: .local, operation: .conflict, conflictsWith: "theirs"),
            ]
            + (0..<18).map {
                StatusItem(path: "f\($0)", state: .dirty, attempts: 2, error: reason)
            }
        let lines = report.text(now: later, extent: .summary(columns: 80)).split(separator: "\n")
            .dropFirst(3)
        let rows = lines.filter { !$0.hasPrefix("      ") }
        #expect(rows.count == 21)
        #expect(
            rows[0].hasPrefix("  failed") && rows[0].contains("18 items: f0, f1, f2 and 15 more"))
        #expect(rows[1].contains("  mine  (with theirs, `apus resolve`"))
        #expect(rows[2].contains("uploading 0 %"))
        #expect(rows.last == "  and 463 more; `apus status --all` lists them")
        let all = report.text(now: later).split(separator: "\n").dropFirst(3)
        #expect(all.count == 500 && all.last?.contains("failed") == true)
    }

    @Test func `texts of more than 8 MiB are not listed, and the report says that there are more`()
    {
        var report = Sample.clean
        // 4 KiB each, in three texts.
        report.items = (0..<3_000).map { _ in
            var item = StatusItem(
                path: String(repeating: "p", count: 1 << 10), state: .dirty)
            item.target = String(repeating: "t", count: 1 << 10)
            item.error = Problem(what: String(repeating: "w", count: 2 << 10), why: "x")
            return item
        }
        report.limitTexts()
        #expect(report.isTruncated)
        #expect((2_000...2_048).contains(report.items.count))
        report.isTruncated = false
        let listed = report
        report.limitTexts()
        #expect(report == listed, "all fit")
    }

    @Test func `what the daemon does not list is counted too`() {
        var report = Sample.report
        report.counts.pending = 7_003
        report.isTruncated = true
        #expect(report.text(now: later).hasSuffix("\n  and 7000 more"))
    }

    @Test func `a pending deletion is called a deletion`() throws {
        var report = Sample.clean
        report.counts.pending = 2
        report.counts.deletions = 2
        report.items = [
            StatusItem(path: "a", state: .dirty, operation: .delete, bytes: 158 << 10)
        ]
        #expect(report.text(now: later).hasSuffix("  deletion  158 KiB  a"))
        #expect(report.summary == "2 deletions not yet on the remote.")
        report.counts.pending = 3
        report.counts.pendingBytes = 5
        #expect(report.summary == "1 change (5 B) and 2 deletions not yet on the remote.")
        let json = String(decoding: try ControlJSON.encode(report), as: UTF8.self)
        #expect(json.contains(#""deletions":2"#) && json.contains(#""operation":"delete""#))
    }

    @Test func `conflicts and held deletions stand in the summary`() {
        var report = Sample.clean
        report.counts.conflicts = 2
        #expect(report.summary == "Everything is on the remote, 2 conflicts.")
        report.counts.held = HeldCounts(items: 9, directories: 1, inDirectories: 8)
        #expect(
            report.summary
                == "Every change is on the remote; 1 deletion there is held, 2 conflicts.")
        report.counts.pending = 1
        report.counts.conflicts = 1
        #expect(report.summary == "1 change (0 B) not yet on the remote, 1 conflict.")
    }

    @Test func `deletions that wait are told with all that is in them`() throws {
        var report = Sample.clean
        report.counts.held = HeldCounts(items: 417, directories: 3, inDirectories: 412)
        #expect(
            report.text(now: later).contains(
                "  The remote has deleted 3 directories with 412 items and 2 others; "
                    + "`apus confirm-deletions` removes them here too\n"))
        let confirmed = DeletionsReport(
            here: HeldCounts(items: 2, directories: 1, inDirectories: 1), released: 2, onRemote: 0)
        #expect(confirmed.line == "Removing here what the remote deleted: 1 directory with 1 item.")
        #expect(
            DeletionsReport(here: HeldCounts(items: 7), released: 7, onRemote: 1).line
                == "Removing here what the remote deleted: 7 items; "
                + "deleting there what was deleted here: 1 item.")
        #expect(Sample.confirmations[0].line == "Released 100 of 120 deletions.")
        #expect(Sample.rejections[0].line == "60 items brought back so far.")
    }

    @Test func `what lies in lost+found is told until it is gone`() throws {
        var report = Sample.clean
        report.lostAndFound = LostAndFound(files: 2, path: "/state/lost+found")
        let words = "2 files without a place in /state/lost+found"
        #expect(
            report.text(now: later).contains("  \(words); inspect them and remove them\n"))
        #expect(
            report.overview(now: later, columns: nil).last
                == "  \(words); inspect them and remove them")
        let json = try ControlJSON.encode(report)
        #expect(try ControlJSON.decode(StatusReport.self, from: json) == report)
    }

    @Test func `files that the local disk failed to store are told`() throws {
        var report = Sample.clean
        report.unstored = 2
        let words =
            "  The disk of the state directory has failed to store 2 files; "
            + "only an upload makes them safe"
        #expect(report.text(now: later).contains("\(words)\n"))
        let json = try ControlJSON.encode(report)
        #expect(try ControlJSON.decode(StatusReport.self, from: json) == report)
    }

    @Test func `the status of a daemon that knows less is understood`() throws {
        let json = String(decoding: try ControlJSON.encode(Sample.clean), as: UTF8.self)
        #expect(!json.contains("lostAndFound"))
        #expect(try ControlJSON.decode(StatusReport.self, from: Data(json.utf8)) == Sample.clean)
    }

    @Test func `what is tried again by itself waits, and has not failed`() {
        var report = Sample.clean
        report.items = [later + 7.2, nil].map { time in
            StatusItem(
                path: "a", state: .dirty, operation: .upload, attempts: 2,
                error: Problem(what: "upload", why: "no route"), isPassing: true, retryAt: time)
        }
        let lines = report.text(now: later).split(separator: "\n")
        #expect(
            lines.dropFirst(3).prefix(2) == [
                "  waiting  0 B  a  (to be retried in 8 s: upload: no route, 2 attempts)",
                "  waiting  0 B  a  (to be retried soon: upload: no route, 2 attempts)",
            ])
    }

    @Test func `a remote out of reach is told with its age`() {
        var report = Sample.clean
        report.remote = RemoteReachability(
            isReachable: false, since: Sample.start, message: "no route\nto host")
        #expect(
            report.text(now: later) == """
                /mnt/cloud  folder:/srv/cloud
                  1 item, 0 B on this disk
                  The remote has been unreachable for 2 min: no route?to host
                Everything is on the remote.
                """)
    }

    @Test func `credentials that are refused are told, with what to do`() {
        var report = Sample.clean
        report.remote = RemoteReachability(
            isReachable: false, since: Sample.start, refusesCredentials: true,
            message: "no such key")
        #expect(
            report.text(now: later).contains(
                "  The remote has refused the credentials for 2 min; the sync is paused until they are "
                    + "accepted: no such key\n"))
    }

    @Test func `one mount of several takes one line, with its rate and its cache`() {
        #expect(
            Sample.clean.overview(now: later, columns: 200) == [
                "/mnt/cloud  folder:/srv/cloud  online  Everything is on the remote. 0 B on this disk."
            ])
        var report = Sample.report
        report.items.removeFirst()
        report.counts.failed = 0
        report.cacheBytesMax = 20 << 30
        report.traffic = TrafficCounts(sent: 0, received: 0, sentPerSecond: 512 << 10)
        #expect(
            report.overview(now: later, columns: nil) == [
                "/mnt/cloud  folder:/srv/cloud  online  3 changes (3.0 MiB) not yet on the remote, "
                    + "up 512 KiB/s, 6 s left. 5.0 MiB of at most 20.0 GiB on this disk."
            ])
        #expect(
            report.text(now: later).contains(
                "\n3 changes (3.0 MiB) not yet on the remote, up 512 KiB/s, 6 s left.\n"))
    }

    @Test func `what needs attention follows the line of a mount, in the words of its own status`()
        throws
    {
        var report = Sample.report
        report.remote = RemoteReachability(
            isReachable: false, since: Sample.start, refusesCredentials: true, message: "no")
        report.unstored = 2
        report.counts.held = HeldCounts(items: 3)
        var pins = PinCounts()
        (pins.items, pins.files, pins.bytes) = (1, 2, 4096)
        report.pins = pins
        report.refusedPin = .init(
            path: "b",
            error: Problem(what: "pin \"b\"", why: "all take 9 GiB", remedy: "unpin other files"))
        let lines = report.overview(now: later, columns: nil)
        let text = report.text(now: later, extent: .summary(columns: nil))
        #expect(lines[0].contains("  credentials refused for 2 min  3 changes (3.0 MiB)"))
        for words in [
            "refused the credentials for 2 min", "deleted 3 items", "failed to store 2 files",
            "Pinned: 1 item", "Not pinned: b: all take 9 GiB; unpin other files",
        ] {
            let line = lines.dropFirst().first { $0.contains(words) }
            #expect(line.map(text.contains) == true, "\(words): \(lines)")
        }
        #expect(lines.count == 7, "and no more: what is under way needs nobody")
        let narrow = report.overview(now: later, columns: 60).dropFirst()
        #expect(narrow.allSatisfy { $0.width <= 60 }, "\(narrow)")
        let json = try ControlJSON.encode(report)
        #expect(try ControlJSON.decode(StatusReport.self, from: json) == report)
        report.remote = RemoteReachability(isReachable: false, since: Sample.start)
        #expect(report.overview(now: later, columns: nil)[0].contains("  offline for 2 min  "))
    }

    @Test func `a transfer has the time of its attempt, and how long the remote is silent`() {
        func lines(_ operation: StatusItem.Operation, silentFor silence: Double?) -> [String] {
            let sign = silence.map { later - $0 }
            let item = StatusItem(
                path: "a", state: .uploading, operation: operation, bytes: 100, percent: 40,
                since: Sample.start - 9_000, startedAt: Sample.start, lastSignAt: sign)
            var report = Sample.clean
            report.items = [item]
            let progress = SyncProgress(
                pending: 1, bytesPending: 5,
                uploading: [
                    .init(
                        path: "a", percent: 40, operation: operation, startedAt: Sample.start,
                        lastSignAt: sign)
                ])
            return [
                report.text(now: later).split(separator: "\n").last.map(String.init) ?? "",
                progress.line(now: later),
            ]
        }
        #expect(
            lines(.upload, silentFor: 1) == [
                "  uploading 40 %  100 B  a  (for 2 min)",
                "1 change (5 B) to go; a: uploading 40 % (for 2 min)",
            ])
        #expect(
            lines(.upload, silentFor: 38) == [
                "  uploading 40 %  100 B  a  (for 2 min, no answer for 38 s)",
                "1 change (5 B) to go; a: uploading 40 % (for 2 min, no answer for 38 s)",
            ])
        #expect(
            lines(.delete, silentFor: 125) == [
                "  deleting  100 B  a  (for 2 min without an answer)",
                "1 change (5 B) to go; a: deleting (for 2 min without an answer)",
            ])
        #expect(
            lines(.delete, silentFor: 124) == lines(.delete, silentFor: 125),
            "a request whose second ended while it was sent")
        #expect(lines(.delete, silentFor: 123)[1].hasSuffix("(for 2 min, no answer for 2 min)"))
        #expect(lines(.move, silentFor: nil)[1].hasSuffix("; a: moving (for 2 min)"))
        let upload = AttemptTimes(startedAt: Sample.start, lastSignAt: Sample.start + 1)
        #expect(upload.text(now: Sample.start + 2) == "for 2 s", "bytes were sent a moment ago")
        #expect(upload.text(now: Sample.start + 3) == "for 3 s without an answer")
    }

    @Test func `a file name cannot draw on the terminal`() {
        var report = Sample.clean
        report.items = [StatusItem(path: "a\u{1B}[2Jb", state: .local)]
        #expect(report.text(now: later).contains("local  0 B  a?[2Jb"))
    }

    @Test func `the JSON of a status has the API's names`() throws {
        var report = Sample.clean
        report.items = [Sample.report.items[1]]
        let json = String(decoding: try ControlJSON.encode(report), as: UTF8.self)
        #expect(
            json
                == #"{"counts":{"conflicts":0,"deletions":0,"downloading":0,"failed":0,"items":1,"#
                + #""localBytes":0,"pending":0,"#
                + #""pendingBytes":0,"uploading":0},"items":[{"attempts":0,"bytes":1000,"bytesSent":129,"#
                + #""operation":"upload","path":"a.jpg","percent":12,"#
                + #""since":"2027-01-15T08:00:00Z","state":"uploading"}],"#
                + #""mountPoint":"/mnt/cloud","#
                + #""remote":{"reachable":true,"since":"2027-01-15T08:00:00Z"},"#
                + #""since":"2027-01-15T08:00:00Z","source":"folder:/srv/cloud","#
                + #""stateDirectory":"/var/lib/apus/mnt+cloud","truncated":false}"#)
        #expect(try ControlJSON.decode(StatusReport.self, from: Data(json.utf8)) == report)
    }
}
