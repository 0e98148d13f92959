import Control
import Testing

@Suite("A pin that cannot fetch everything") struct PinPatienceTests {
    private var patience = PinPatience()

    private mutating func ends(missing: UInt64, isHindered: Bool, at seconds: Int) -> Bool {
        var progress = PinProgress()
        progress.bytesMissing = missing
        if isHindered { progress.hindrance = Problem(what: "fetch", why: "gone") }
        patience.limit(&progress, at: .seconds(seconds))
        return progress.isDone
    }

    @Test mutating func `ends when nothing arrives for half a minute, and there is a reason`() {
        #expect(!ends(missing: 9, isHindered: true, at: 100))
        #expect(!ends(missing: 8, isHindered: true, at: 129), "bytes have arrived")
        #expect(!ends(missing: 8, isHindered: true, at: 158))
        #expect(ends(missing: 8, isHindered: true, at: 159))
    }

    @Test mutating func `waits as long as nothing is wrong`() {
        #expect(!ends(missing: 9, isHindered: true, at: 0))
        #expect(!ends(missing: 9, isHindered: false, at: 29))
        #expect(!ends(missing: 9, isHindered: true, at: 1_000))
    }
}
