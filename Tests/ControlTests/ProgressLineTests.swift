import Testing

@testable import Control

struct ProgressLineTests {
    /// What a progress line writes.
    private final class Paper {
        var text = ""
    }

    @Test func `a terminal's line is redrawn and never wraps`() {
        let paper = Paper()
        var line = ProgressLine(style: .terminal(columns: 6)) { paper.text += $0 }
        line.show("123456789", uptime: 0)
        line.show("123456789", uptime: 1)
        line.show("ab", uptime: 1)
        line.finish("end")
        #expect(
            paper.text == "\r\u{1B}[2K12345" + "\r\u{1B}[2Kab" + "\r\u{1B}[2Kend\n")
    }

    @Test func `a sync's last word is left to the command`() {
        let paper = Paper()
        var line = ProgressLine(style: .plain(interval: 0)) { paper.text += $0 }
        line.show(SyncProgress())
        line.show(SyncProgress(pending: 1, bytesPending: 5))
        line.show(SyncProgress())
        line.show(SyncProgress(isDone: true))
        #expect(paper.text == "1 change (5 B) to go\nWaiting for the last changes\n")
    }

    @Test func `elsewhere a line comes now and then`() {
        let paper = Paper()
        var line = ProgressLine(style: .plain(interval: 5)) { paper.text += $0 }
        line.show("a", uptime: 0)
        line.show("b", uptime: 2.9)
        line.show("c", uptime: 3)
        line.show("d", uptime: 7.9)
        line.show("e", uptime: 8)
        line.finish("e")
        #expect(
            paper.text == "a\nc\ne\n", "the second line, with the reason of the wait, comes sooner")
    }
}
