import Testing

@testable import Engine

@Suite("The ledger of room on the disk")
struct SpaceBudgetTests {
    private let space = StorageSpace(totalBytes: 1_000, availableBytes: 150)

    @Test func `leaves a twentieth of a small disk to the database`() {
        var ledger = SpaceBudget()
        let fits = ledger.take(99, at: .zero) { space }
        let fitsNoMore = ledger.take(1, at: .zero) {
            StorageSpace(totalBytes: 1_000, availableBytes: 51)
        }
        #expect(fits && !fitsNoMore)
    }

    @Test func `measures anew only when it has to`() {
        var ledger = SpaceBudget()
        var measurements = 0
        let measure = {
            measurements += 1
            return StorageSpace(totalBytes: 1_000, availableBytes: 150)
        }
        let fits = (0..<9).map { _ in ledger.take(10, at: .zero, measure: measure) }
        #expect(!fits.contains(false))
        #expect(measurements == 1)
        _ = ledger.take(20, at: .zero, measure: measure)
        #expect(measurements == 2)
        _ = ledger.take(1, at: .seconds(2), measure: measure)
        #expect(measurements == 3)
    }

    @Test func `takes nothing where it refuses`() {
        var ledger = SpaceBudget()
        let tooMuch = ledger.take(200, at: .zero) { space }
        let enough = ledger.take(90, at: .zero) { space }
        #expect(!tooMuch && enough)
    }

    @Test func `gives up for a moment, not for good`() {
        var ledger = SpaceBudget()
        ledger.giveUp(at: .zero)
        #expect(ledger.isHopeless(at: .milliseconds(900)))
        #expect(!ledger.isHopeless(at: .seconds(1)))
    }

    @Test func `has no room after a refusal, until some was made or looked for in vain`() {
        var ledger = SpaceBudget()
        ledger.refuse()
        let refused = ledger.take(1, at: .zero) { space }
        ledger.forget()
        let made = ledger.take(1, at: .zero) { space }
        ledger.refuse()
        ledger.giveUp(at: .zero)
        let later = ledger.take(1, at: .seconds(2)) { space }
        #expect(!refused && made && later)
    }
}
