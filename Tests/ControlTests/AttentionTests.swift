import Testing

@testable import Control

@Suite("Desktop notifications") struct AttentionTests {
    private static let point = "/home/anna/Cloud"

    private func conflict(_ path: String) -> AttentionItem {
        AttentionItem(path: path, kind: .conflict)
    }

    private func failure(_ path: String, _ reason: String = "not permitted") -> AttentionItem {
        AttentionItem(path: path, kind: .failure(reason: reason))
    }

    private func bursts(_ items: [AttentionItem] = []) -> AttentionBursts {
        var bursts = AttentionBursts()
        bursts.note(items, at: .zero)
        return bursts
    }

    @Test func `nothing is told of items from before the start`() {
        var bursts = bursts([conflict("a")])
        bursts.note([conflict("a")], at: .seconds(1))
        #expect(bursts.due == nil)
        #expect(bursts.take(at: .seconds(100)) == [])
    }

    @Test func `a burst is one notification`() {
        var bursts = bursts([conflict("old")])
        let items = (1...40).map { conflict("\($0)") }
        for end in 1...40 {
            bursts.note(
                [conflict("old")] + items.prefix(end), at: .seconds(10) + .milliseconds(end))
        }
        #expect(bursts.due == .milliseconds(15_001))
        #expect(bursts.take(at: .seconds(15)) == [])
        #expect(bursts.take(at: .milliseconds(15_001)) == items)
        #expect(bursts.due == nil)
    }

    @Test func `later ones wait for a minute after the last one`() {
        var bursts = bursts()
        bursts.note([conflict("a")], at: .seconds(1))
        #expect(bursts.take(at: .seconds(6)) == [conflict("a")])
        bursts.note([conflict("a"), failure("b")], at: .seconds(7))
        #expect(bursts.take(at: .seconds(65)) == [])
        #expect(bursts.take(at: .seconds(66)) == [failure("b")])
    }

    @Test func `nothing is told of items that are settled before`() {
        var bursts = bursts()
        bursts.note([conflict("a")], at: .seconds(1))
        bursts.note([], at: .seconds(2))
        #expect(bursts.due == nil)
        bursts.note([conflict("b"), failure("c")], at: .seconds(3))
        bursts.note([failure("c", "another reason")], at: .seconds(4))
        #expect(bursts.take(at: .seconds(8)) == [failure("c")])
    }

    @Test func `an item that fails again later is a new one`() {
        var bursts = bursts()
        bursts.note([failure("a")], at: .seconds(1))
        #expect(bursts.take(at: .seconds(6)) == [failure("a")])
        bursts.note([], at: .seconds(100))
        bursts.note([failure("a")], at: .seconds(200))
        #expect(bursts.take(at: .seconds(205)) == [failure("a")])
    }

    @Test func `the text names the first items, and how many there are`() {
        let one = DesktopNotification(of: [conflict("plan.txt")], in: Self.point)
        #expect(one.summary == "1 conflict in Cloud")
        #expect(
            one.body
                == "plan.txt: changed here and on the remote. Both versions are kept.\n"
                + "See `apus status`, or the page of `apus web`.")
        let items =
            (1...5).map { conflict("c\($0)") } + [failure("a"), failure("b\nc", "full")]
        let many = DesktopNotification(of: items, in: Self.point)
        #expect(many.summary == "5 conflicts and 2 failed changes in Cloud")
        let lines = many.body.split(separator: "\n")
        #expect(lines.count == 4)
        #expect(lines[0] == "a: not permitted")
        #expect(lines[2].hasPrefix("c1, c2, c3 and 2 more: "))
    }
}
