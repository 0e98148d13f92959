import Testing

@testable import Engine

@Suite("The guard against deletions in bulk")
struct DeletionGuardTests {
    private func isHeld(_ counts: [(count: Int, at: Int)], known: Int) -> [Bool] {
        var guardian = DeletionGuard()
        var last: Int64 = 1
        return counts.map { count, second in
            let first = last + 1
            last += Int64(count)
            return holds(&guardian, first...last, at: second, known: known)
        }
    }

    private func holds(
        _ guardian: inout DeletionGuard, _ inodes: ClosedRange<Int64>, at second: Int, known: Int
    ) -> Bool {
        for inode in inodes {
            guardian.noteRemote(InodeNumber(rawValue: inode), at: .seconds(second))
        }
        return guardian.holdsRemote(at: .seconds(second)) { known }
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
        let first = holds(&guardian, 2...151, at: 0, known: 200)
        let second = holds(&guardian, 152...152, at: 10, known: 10_000)
        #expect(first && second)
        guardian.confirm()
        let third = holds(&guardian, 153...153, at: 11, known: 10_000)
        #expect(!third)
    }

    @Test func `counts what is deleted again and again once in a burst`() {
        var guardian = DeletionGuard()
        for second in 0..<200 {
            let isHeld = holds(&guardian, 2...5, at: second, known: 4)
            #expect(!isHeld, "after \(second) s")
        }
        let many = holds(&guardian, 2...151, at: 200, known: 200)
        let again = holds(&guardian, 2...5, at: 210, known: 200)
        #expect(many && again)
        let later = holds(&guardian, 2...5, at: 261, known: 200)
        #expect(!later, "what was counted before does not prolong a burst")
    }

    @Test func `knows so many items of a burst again, and no more`() {
        var guardian = DeletionGuard()
        let most = Int64(DeletionGuard.recognisedMax)
        let known = 3 * DeletionGuard.recognisedMax + 30
        let steps = [1...most, 1...most, (most + 1)...(most + 10), (most + 1)...(most + 10)]
        let held = steps.map { holds(&guardian, $0, at: 0, known: known) }
        #expect(held == [false, false, false, true])
    }

    @Test func `keeps a burst made here for a minute after its last deletion`() {
        var guardian = DeletionGuard()
        for second in 0..<40 { guardian.noteLocal(5, at: .seconds(second)) }
        let due40 = guardian.localDue(at: .seconds(40)) { 300 }
        #expect(due40 == .seconds(99))
        let due99 = guardian.localDue(at: .seconds(99)) { 300 }
        #expect(due99 == nil)
    }

    @Test func `keeps many until a few seconds after the last, and up to a hundred not at all`() {
        var guardian = DeletionGuard()
        guardian.noteLocal(100, at: .zero)
        let few = guardian.localDue(at: .zero) { 1_000 }
        guardian.noteLocal(1, at: .seconds(1))
        let many = guardian.localDue(at: .seconds(1)) { 1_000 }
        #expect(few == nil && many == .seconds(6))
        #expect(!guardian.isLocalSuspicious)
        let later = guardian.localDue(at: .seconds(6)) { 1_000 }
        #expect(later == nil)
        for second in 7..<60 { guardian.noteLocal(1, at: .seconds(second)) }
        let last = guardian.localDue(at: .seconds(59)) { 1_000 }
        let over = guardian.localDue(at: .seconds(60)) { 1_000 }
        #expect(last == .seconds(60) && over == nil)
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
