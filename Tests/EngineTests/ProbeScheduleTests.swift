import Testing

@testable import Engine

@Suite("When to probe the remote") struct ProbeScheduleTests {
    private var schedule = ProbeSchedule()

    /// The first probe is answered at once.
    init() {
        _ = schedule.next(lostAt: nil, at: .zero)
        schedule.noteEnd(of: .patient, isAnswered: true, isLate: false, at: .zero)
    }

    /// Goal: the first request to a slow remote does not fail for its slowness.
    @Test func `patiently at the start, which shows how long an answer takes`() {
        var schedule = ProbeSchedule()
        #expect(schedule.limit(of: .quick) == .seconds(10), "not known yet")
        #expect(schedule.next(lostAt: nil, at: .zero) == .probe(.patient))
        #expect(schedule.next(lostAt: nil, at: .zero) == .wait(until: nil))
        schedule.noteEnd(of: .patient, isAnswered: true, isLate: false, at: .seconds(4))
        #expect(schedule.limit(of: .quick) == .seconds(8))
    }

    @Test func `as usual, if the first answer does not come`() {
        var schedule = ProbeSchedule()
        #expect(schedule.next(lostAt: nil, at: .zero) == .probe(.patient))
        schedule.noteEnd(of: .patient, isAnswered: false, isLate: true, at: .seconds(60))
        #expect(schedule.limit(of: .quick) == .seconds(3))
    }

    @Test mutating func `never, without a call`() {
        #expect(schedule.next(lostAt: nil, at: .seconds(100)) == .wait(until: nil))
    }

    @Test mutating func `when a call has been silent for some time`() {
        let isNews = schedule.begin(at: .seconds(10))
        #expect(isNews)
        #expect(schedule.next(lostAt: nil, at: .seconds(10)) == .wait(until: .seconds(12)))
        #expect(schedule.next(lostAt: nil, at: .seconds(12)) == .probe(.quick))
        #expect(
            schedule.next(lostAt: nil, at: .seconds(12)) == .wait(until: nil), "one at a time")
    }

    @Test mutating func `not while bytes arrive`() {
        _ = schedule.begin(at: .seconds(10))
        schedule.noteSign(at: .seconds(11))
        #expect(schedule.next(lostAt: nil, at: .seconds(12)) == .wait(until: .seconds(13)))
        schedule.end()
        #expect(schedule.next(lostAt: nil, at: .seconds(13)) == .wait(until: nil))
    }

    @Test mutating func `less and less often during a long silence with answered probes`() {
        _ = schedule.begin(at: .zero)
        var (now, gaps) = (Duration.seconds(2), [Duration]())
        for _ in 0..<5 {
            #expect(schedule.next(lostAt: nil, at: now) == .probe(.quick))
            schedule.noteEnd(of: .quick, isAnswered: true, isLate: false, at: now)
            guard case .wait(let until?) = schedule.next(lostAt: nil, at: now) else {
                Issue.record("the call is still silent")
                return
            }
            gaps.append(until - now)
            now = until
        }
        #expect(gaps == [4, 8, 10, 10, 10].map { .seconds($0) })
        let isNews = schedule.begin(at: now - .seconds(9))
        #expect(isNews, "a new call may find the remote gone")
        #expect(
            schedule.next(lostAt: nil, at: now - .seconds(9)) == .wait(until: now - .seconds(8)))
    }

    @Test mutating func `at intervals while the remote is lost, without a call`() {
        #expect(schedule.next(lostAt: .seconds(10), at: .seconds(10)) == .probe(.quick))
        schedule.noteEnd(of: .quick, isAnswered: false, isLate: false, at: .seconds(10))
        #expect(schedule.next(lostAt: .seconds(10), at: .seconds(10)) == .wait(until: .seconds(12)))
        #expect(schedule.next(lostAt: .seconds(10), at: .seconds(12)) == .probe(.quick))
        #expect(
            schedule.next(lostAt: .seconds(10), at: .seconds(13)) == .wait(until: .seconds(15)),
            "the remote is out of reach then")
    }

    @Test mutating func `soon again if the remote is lost again, but not without a pause`() {
        #expect(schedule.next(lostAt: .seconds(10), at: .seconds(10)) == .probe(.quick))
        schedule.noteEnd(of: .quick, isAnswered: true, isLate: false, at: .seconds(10))
        #expect(schedule.next(lostAt: nil, at: .seconds(10)) == .wait(until: nil))
        let again = Duration.milliseconds(10_200)
        #expect(schedule.next(lostAt: again, at: again) == .wait(until: .milliseconds(10_500)))
        #expect(schedule.next(lostAt: again, at: .milliseconds(10_500)) == .probe(.quick))
    }

    @Test mutating func `patiently too, if an answer takes long`() {
        #expect(schedule.next(lostAt: .zero, at: .zero) == .probe(.quick))
        schedule.noteEnd(of: .quick, isAnswered: false, isLate: true, at: .seconds(3))
        #expect(schedule.next(lostAt: .zero, at: .seconds(3)) == .probe(.patient))
        #expect(schedule.next(lostAt: .zero, at: .seconds(5)) == .probe(.quick))
        schedule.noteEnd(of: .quick, isAnswered: false, isLate: true, at: .seconds(8))
        #expect(
            schedule.next(lostAt: .zero, at: .seconds(8)) == .probe(.quick),
            "one patient probe at a time")
    }

    @Test mutating func `with more time for a remote that is known to be slow`() {
        #expect(schedule.limit(of: .quick) == .seconds(3))
        #expect(schedule.next(lostAt: .zero, at: .zero) == .probe(.quick))
        schedule.noteEnd(of: .quick, isAnswered: false, isLate: true, at: .seconds(3))
        #expect(schedule.next(lostAt: .zero, at: .seconds(3)) == .probe(.patient))
        schedule.noteEnd(of: .patient, isAnswered: true, isLate: false, at: .seconds(9))
        #expect(schedule.limit(of: .quick) == .seconds(12))
        _ = schedule.begin(at: .seconds(20))
        #expect(schedule.next(lostAt: nil, at: .seconds(22)) == .probe(.quick))
        schedule.noteEnd(of: .quick, isAnswered: false, isLate: true, at: .seconds(34))
        #expect(schedule.limit(of: .quick) == .seconds(10), "it may be gone, or slow as before")
    }

    @Test mutating func `with more time while an upload progresses`() {
        schedule.noteUpload(1 << 20, begunAt: .seconds(10), at: .seconds(10))
        _ = schedule.begin(at: .seconds(10))
        #expect(!schedule.hasSign(since: .seconds(10)), "it got no further than this machine")
        #expect(schedule.next(lostAt: nil, at: .seconds(12)) == .probe(.quick))
        #expect(schedule.limit(of: .quick) == .seconds(30))
        schedule.noteUpload(1 << 20, begunAt: .seconds(10), at: .seconds(14))
        #expect(schedule.hasSign(since: .seconds(12)))
        schedule.noteEnd(of: .quick, isAnswered: false, isLate: false, at: .seconds(15))
        #expect(schedule.next(lostAt: nil, at: .seconds(15)) == .wait(until: .seconds(16)))
    }

    @Test mutating func `with little time while little is uploaded`() {
        schedule.noteUpload(1_000, begunAt: .seconds(10), at: .seconds(10))
        _ = schedule.begin(at: .seconds(10))
        #expect(schedule.next(lostAt: nil, at: .seconds(12)) == .probe(.quick))
        #expect(schedule.limit(of: .quick) == .seconds(3))
    }

    @Test mutating func `with little time for one out of reach, whatever is tried to be sent`() {
        schedule.noteUpload(1 << 20, begunAt: .seconds(20), at: .seconds(20))
        #expect(schedule.next(lostAt: .seconds(10), at: .seconds(20)) == .probe(.patient))
        #expect(schedule.next(lostAt: .seconds(10), at: .seconds(20)) == .probe(.quick))
        #expect(schedule.limit(of: .quick) == .seconds(3))
    }

    @Test mutating func `patiently once, before a listing is ended`() {
        let lost = Duration.seconds(10)
        #expect(schedule.next(lostAt: lost, at: lost) == .probe(.quick))
        schedule.noteEnd(of: .quick, isAnswered: false, isLate: false, at: lost)
        #expect(schedule.next(lostAt: lost, at: .seconds(15)) == .probe(.patient))
        schedule.noteEnd(of: .patient, isAnswered: false, isLate: false, at: .seconds(15))
        #expect(schedule.next(lostAt: lost, at: .seconds(15)) == .probe(.quick))
        schedule.noteEnd(of: .quick, isAnswered: false, isLate: false, at: .seconds(15))
        #expect(schedule.next(lostAt: lost, at: .seconds(15)) == .wait(until: .seconds(17)))
    }

    @Test mutating func `with more time for a store that may sleep`() {
        schedule.noteSign(at: .seconds(10))
        _ = schedule.begin(at: .seconds(400))
        #expect(schedule.next(lostAt: nil, at: .seconds(402)) == .probe(.quick))
        #expect(schedule.limit(of: .quick) == .seconds(10))
    }

    @Test func `bytes delay an outage, and do not end one`() {
        var state = lost(at: .seconds(10))
        state.note(failed(.quick, at: .seconds(10)))
        state.noteSign(at: .seconds(14))
        #expect(!state.isOutOfReach(at: .seconds(18)))
        #expect(state.isOutOfReach(at: .seconds(19)))
        state.noteSign(at: .seconds(20))
        #expect(state.isOutOfReach(at: .seconds(20)))
    }

    private func lost(at instant: Duration) -> Reachability {
        Reachability(reason: nil, since: nil, lostAt: instant)
    }

    private func failed(
        _ probe: ProbeSchedule.Probe, isRefused: Bool = true, isBesideListing: Bool = false,
        at end: Duration
    ) -> FailedProbe {
        FailedProbe(
            probe: probe, isRefused: isRefused, isBesideListing: isBesideListing, end: end)
    }

    /// Goal: after a laptop wakes, its network has as long as a remote that was just lost.
    @Test func `the time that this machine is suspended does not count`() {
        var state = lost(at: .seconds(10))
        state.note(failed(.quick, at: .seconds(11)))
        let wake = Duration.seconds(3_600)
        #expect(!state.isOutOfReach(at: wake))
        #expect(state.patienceEnd(at: wake) == nil)
        #expect(state.check(at: wake) == nil)
        #expect(!state.isOutOfReach(at: wake + .seconds(5)), "no probe has failed yet")
        state.note(failed(.quick, at: wake + .seconds(1)))
        #expect(!state.isOutOfReach(at: wake + .seconds(4)))
        #expect(state.isOutOfReach(at: wake + .seconds(5)))
    }

    @Test func `an outage that was noticed lasts, also while this machine is suspended`() {
        var state = lost(at: .seconds(10))
        state.note(failed(.quick, at: .seconds(11)))
        #expect(state.check(at: .seconds(15)) == .outOfReach)
        #expect(state.check(at: .seconds(3_600)) == .outOfReach)
    }

    @Test func `a single refusal does not make an outage certain`() {
        var state = lost(at: .seconds(10))
        state.note(failed(.patient, at: .seconds(15)))
        #expect(state.outage(at: .seconds(15)) == .outOfReach)
        state.note(failed(.quick, at: .seconds(17)))
        #expect(state.outage(at: .seconds(17)) == .outOfReach)
        state.note(failed(.quick, at: .seconds(20)))
        #expect(state.outage(at: .seconds(20)) == .confirmed)
    }

    @Test func `a late patient probe makes it certain, but beside a listing only after long`() {
        var state = lost(at: .zero)
        state.note(failed(.patient, isRefused: false, isBesideListing: true, at: .seconds(70)))
        #expect(state.outage(at: .seconds(70)) == .outOfReach)
        var other = state
        other.note(failed(.patient, isRefused: false, at: .seconds(130)))
        #expect(other.check(at: .seconds(70)) == .confirmed)
        state.note(failed(.patient, isRefused: false, isBesideListing: true, at: .seconds(600)))
        #expect(state.check(at: .seconds(71)) == .confirmed)
    }

    // MARK: Long outages

    /// Returns when the next probe is due after one at `now` that fails at once.
    private mutating func probeAfter(_ now: Duration, lostAt: Duration) -> Duration? {
        guard schedule.next(lostAt: lostAt, at: now) == .probe(.quick) else { return nil }
        schedule.noteEnd(of: .quick, isAnswered: false, isLate: false, at: now)
        guard case .wait(let until) = schedule.next(lostAt: lostAt, at: now) else { return nil }
        return until
    }

    /// Loses the remote at 10 s, and notes that a patient probe has failed too.
    private mutating func lose() {
        _ = schedule.next(lostAt: .seconds(10), at: .seconds(10))
        schedule.noteEnd(of: .quick, isAnswered: false, isLate: false, at: .seconds(10))
        _ = schedule.next(lostAt: .seconds(10), at: .seconds(20))
        schedule.noteEnd(of: .patient, isAnswered: false, isLate: false, at: .seconds(20))
    }

    @Test mutating func `less often after a long outage`() {
        lose()
        for (now, next) in [(100, 102), (190, 193), (310, 314), (9_000, 9_004)] {
            let next1 = probeAfter(.seconds(now), lostAt: .seconds(10))
            #expect(next1 == .seconds(next))
        }
    }

    @Test mutating func `at once when the network changes, and often for a while`() {
        lose()
        let next2 = probeAfter(.seconds(9_000), lostAt: .seconds(10))
        #expect(next2 == .seconds(9_004))
        let isLate = schedule.hasten(at: .seconds(9_001))
        #expect(isLate)
        let next3 = probeAfter(.seconds(9_001), lostAt: .seconds(10))
        #expect(next3 == .seconds(9_003))
        let next4 = probeAfter(.seconds(9_060), lostAt: .seconds(10))
        #expect(next4 == .seconds(9_062))
        // A burst of changes is no burst of probes.
        let isLateAgain = schedule.hasten(at: .milliseconds(9_060_100))
        #expect(!isLateAgain)
        #expect(
            schedule.next(lostAt: .seconds(10), at: .milliseconds(9_060_100))
                == .wait(until: .milliseconds(9_060_500)))
    }

    @Test mutating func `not for changes of the network while it answers`() {
        let isLate = schedule.hasten(at: .seconds(5))
        #expect(!isLate)
        #expect(schedule.next(lostAt: nil, at: .seconds(5)) == .wait(until: nil))
    }
}
