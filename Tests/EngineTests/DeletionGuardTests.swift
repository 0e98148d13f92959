import Testing

@testable import Engine

@Suite("The guard against deletions in bulk")
struct DeletionGuardTests {
    private func isHeld(_ counts: [(count: Int, at: Int)], known: Int) -> [Bool] {
        var guardian = DeletionGuard()
        return counts.map { count, second in
            guardian.holdsRemote(count, at: .seconds(second)) { known }
        }
    }

    @Test func `lets through up to a hundred, and up to a third of what is known`() {
        #expect(isHeld([(100, 0)], known: 100) == [false])
        #expect(isHeld([(101, 0)], known: 303) == [false])
        #expect(isHeld([(102, 0)], known: 303) == [true])
        #expect(isHeld([(5_000, 0)], known: 20_000) == [false])
    }

    @Test func `adds up what follows within a minute, and nothing older`() {
        #expect(isHeld([(90, 0), (90, 50)], known: 200) == [false, true])
        #expect(isHeld([(90, 0), (90, 61)], known: 200) == [false, false])
    }

    @Test func `goes on holding a burst that it once held`() {
        var guardian = DeletionGuard()
        var known = 200
        let first = guardian.holdsRemote(150, at: .zero) { known }
        known = 10_000
        let second = guardian.holdsRemote(1, at: .seconds(10)) { known }
        #expect(first && second)
        guardian.confirm()
        let third = guardian.holdsRemote(1, at: .seconds(11)) { known }
        #expect(!third)
    }

    @Test func `keeps a burst made here for a minute after its last deletion`() {
        var guardian = DeletionGuard()
        for second in 0..<40 { guardian.noteLocal(5, at: .seconds(second)) }
        let due40 = guardian.localDue(at: .seconds(40)) { 300 }
        #expect(due40 == .seconds(99))
        let due99 = guardian.localDue(at: .seconds(99)) { 300 }
        #expect(due99 == nil)
    }

    @Test func `keeps a burst that never ends for ten minutes at the most`() {
        var guardian = DeletionGuard()
        for second in 0..<700 { guardian.noteLocal(5, at: .seconds(second)) }
        let due599 = guardian.localDue(at: .seconds(599)) { 300 }
        #expect(due599 == .seconds(600))
        let due700 = guardian.localDue(at: .seconds(700)) { 300 }
        #expect(due700 == nil)
    }

    @Test func `asks how much is known only when that may matter`() {
        var guardian = DeletionGuard()
        var questions = 0
        for second in 0..<1_000 {
            guardian.noteLocal(1, at: .seconds(second / 100))
            _ = guardian.localDue(at: .seconds(second / 100)) {
                questions += 1
                return 1_500
            }
        }
        #expect(questions == 2)
    }
}
