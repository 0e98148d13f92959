import Control
import Testing

@Suite("The changes below a path") struct ChangeSelectionTests {
    private func change(_ number: Int, in folder: String) -> ChangeEvent {
        ChangeEvent(cursor: "\(number)", change: .created, side: .local, path: "\(folder)/new")
    }

    @Test func `come with a cursor at each thousandth change elsewhere`() {
        var selection = ChangeSelection(below: ["a"])
        let events = (1...3_500).compactMap { selection.take(change($0, in: "b")) }
        #expect(events == [1_000, 2_000, 3_000].map { ChangeEvent(cursor: "\($0)") })
    }

    @Test func `count as a cursor themselves`() {
        var selection = ChangeSelection(below: ["a", "c"])
        let events = (1...2_600).compactMap {
            selection.take(change($0, in: $0 % 999 == 0 ? "c/d" : "ab"))
        }
        #expect(events.map(\.cursor) == ["999", "1998"])
        #expect(events.allSatisfy { $0.path == "c/d/new" })
    }

    @Test func `are all of the mount without a path in it`() {
        var selection = ChangeSelection(below: [""])
        let events = (1...2_000).map { change($0, in: "a") }
        #expect(events.compactMap { selection.take($0) } == events)
    }
}
