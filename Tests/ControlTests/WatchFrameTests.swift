import Foundation
import Testing

@testable import Control

/// Simulated time: no test here waits.
@Suite struct `A watch of mounts` {
    private let now = Sample.start + 125

    private func style(columns: Int = 200, rows: Int = 50, isColoured: Bool = false)
        -> WatchFrame.Style
    {
        WatchFrame.Style(columns: columns, rows: rows, isColoured: isColoured, isUnicode: true)
    }

    /// A mount that has sent 1 of 4 MiB in two seconds.
    private var mount: WatchFrame.Mount {
        var mount = WatchFrame.Mount("/mnt/cloud")
        var report = Sample.report
        report.cacheBytesMax = 10 << 20
        report.counts.pendingBytes = 4 << 20
        report.traffic = TrafficCounts(sent: 100, received: 0)
        mount.traffic.note(report, at: .seconds(10))
        report.counts.pendingBytes = 3 << 20
        report.traffic = TrafficCounts(sent: 100 + 1 << 20, received: 0)
        mount.traffic.note(report, at: .seconds(12))
        mount.report = report
        return mount
    }

    private func lines(_ mounts: [WatchFrame.Mount], _ style: WatchFrame.Style) -> [String] {
        WatchFrame(mounts, style, now: now, uptime: .seconds(12)).lines
    }

    @Test func `has one line for a mount, then what is under way and what needs attention`() {
        let lines = lines([mount], style())
        #expect(
            lines.prefix(2) == [
                "/mnt/cloud  folder:/srv/cloud  online  ████░░░░░░░░░░░░ 25 % 3 changes, 3.0 MiB to send"
                    + " · ↑ 512 KiB/s · 6 s left · cache 5.0 MiB of 10.0 MiB ████░░░░",
                "  uploading   █░░░░░░░░░░░░░░░ 12 %  a.jpg",
            ])
        #expect(lines.count == 3)
        #expect(lines[2].contains("failed") && lines[2].contains("free some space there"))
    }

    @Test(arguments: [40, 80, 120, 200], [false, true])
    func `keeps to the size of the terminal`(columns: Int, isColoured: Bool) {
        let mounts = [mount, mount, mount]
        let shown = lines(mounts, style(columns: columns, rows: 6, isColoured: isColoured))
            .map { $0.replacing(/\u{1B}\[\d+m/, with: "") }
        #expect(shown.count == 5)
        #expect(shown.allSatisfy { $0.width < columns }, "\(shown)")
        #expect(shown.last?.contains("more lines") == true)
    }

    @Test func `has colours only if they are wanted, and characters that the terminal knows`() {
        #expect(lines([mount], style(isColoured: true))[0].contains("\u{1B}[32monline\u{1B}[0m"))
        #expect(!lines([mount], style()).contains { $0.contains("\u{1B}") })
        var ascii = style()
        ascii.isUnicode = false
        #expect(lines([mount], ascii).allSatisfy { $0.utf8.allSatisfy { $0 < 0x80 } })
    }

    @Test func `tells since when a mount is offline, and why one cannot be asked`() {
        var offline = mount
        offline.report?.remote = RemoteReachability(
            isReachable: false, since: Sample.start, message: "connection refused")
        let text = lines([offline], style()).joined(separator: "\n")
        #expect(text.contains("offline for 2 min"))
        #expect(text.contains("The remote has been unreachable for 2 min: connection refused"))
        var other = WatchFrame.Mount("/mnt/other")
        other.failure = "it is dead"
        #expect(lines([other], style()) == ["/mnt/other  it is dead"])
    }

    @Test func `as plain lines has no bars and no escape sequences`() {
        let lines = WatchFrame.plainLines([mount], now: now, uptime: .seconds(12))
        #expect(
            lines[0]
                == "/mnt/cloud  online, 3 changes, 3.0 MiB to send, 25 %, 512 KiB/s, 6 s left, "
                + "cache 5.0 MiB")
        #expect(lines[1].hasPrefix("  failed"))
    }

    @Test func `forgets a rate once nothing moves`() {
        let traffic = mount.traffic
        #expect(traffic.sentPerSecond(at: .seconds(12)) == 524_288)
        #expect(traffic.sentPerSecond(at: .seconds(60)) == 0)
        #expect(traffic.timeLeft(at: .seconds(60)) == nil)
    }

    @Test func `begins anew after everything was sent`() {
        var traffic = mount.traffic
        var report = Sample.clean
        report.traffic = TrafficCounts(sent: 5 << 20, received: 0)
        traffic.note(report, at: .seconds(20))
        #expect(traffic.fraction == nil)
        report.counts.pending = 1
        report.counts.pendingBytes = 1 << 20
        traffic.note(report, at: .seconds(21))
        #expect(traffic.fraction == 0)
    }

    @Test func `counts no file that is open for writing and sent`() {
        var mount = mount
        mount.report?.counts.open = 1
        #expect(lines([mount], style())[0].contains(" 2 changes, 3.0 MiB to send"))
        mount.report?.counts.pending = 1
        #expect(
            lines([mount], style())[0].contains(
                "online  nothing to send, 1 file is still open for writing · "))
    }

    @Test func `redraws in place, in one write, and leaves the cursor visible`() {
        var written: [String] = []
        var screen = Screen { written.append($0) }
        screen.show(["a", "b"], columns: 80)
        screen.show(["a", "b"], columns: 80)
        screen.show(["c"], columns: 80)
        screen.show(["c"], columns: 40)
        screen.end()
        screen.end()
        #expect(
            written == [
                "\u{1B}[?2026h\u{1B}[?25l\ra\u{1B}[K\nb\u{1B}[K\n\u{1B}[J\u{1B}[?2026l",
                "\u{1B}[?2026h\u{1B}[2A\rc\u{1B}[K\n\u{1B}[J\u{1B}[?2026l",
                "\u{1B}[?2026h\u{1B}[2J\u{1B}[H\rc\u{1B}[K\n\u{1B}[J\u{1B}[?2026l",
                "\u{1B}[?25h",
            ])
    }

    @Test func `is full only at the end`() {
        let bar = ProgressBar(columns: 4, isUnicode: false)
        #expect(bar.text(0) == "----" && bar.text(0.5) == "##--")
        #expect(bar.text(0.999) == "###-" && bar.text(1) == "####" && bar.text(7) == "####")
    }
}
