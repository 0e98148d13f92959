import Testing

@testable import Transport

@Suite struct StallWatchTests {
    private let start = ContinuousClock.now

    /// Returns the seconds without a byte after which a transfer counts as stalled.
    private func limit(
        _ phase: StallWatch.Phase, timeout: Int?, answerBytes: UInt64 = 0
    ) -> Int? {
        var request = HTTPRequest(
            .put, "http://a/", stallTimeout: timeout.map { .seconds($0) })
        request.answerBytes = answerBytes
        let watch = StallWatch(request, contentMax: .seconds(30), at: start)
        return (0...1_000).first { watch.isStalled(phase, at: start + .seconds($0)) }
    }

    /// Goal: a stalled body is abandoned soon, even if the server may take long to act on it.
    @Test func `a body stalls after 30 s, although its answer may take 10 minutes`() {
        #expect(limit(.sending, timeout: 600) == 30)
        #expect(limit(.awaitingAnswer, timeout: 600) == 600)
        #expect(limit(.sending, timeout: 10) == 10)
    }

    @Test func `file content stalls after 30 s, any other answer after a minute`() {
        #expect(limit(.awaitingAnswer, timeout: 60, answerBytes: 1) == 30)
        #expect(limit(.receiving, timeout: 60, answerBytes: 1) == 30)
        #expect(limit(.awaitingAnswer, timeout: 600) == 600)
        #expect(limit(.receiving, timeout: 600) == 60)
        #expect(limit(.receiving, timeout: 20) == 20)
    }

    @Test func `the body of a refusal is awaited for 5 s, even without a timeout`() {
        #expect(limit(.refused(at: start), timeout: nil) == 5)
        #expect(limit(.refused(at: start), timeout: 600) == 5)
    }

    @Test func `without a timeout nothing else stalls`() {
        for phase in [StallWatch.Phase.sending, .awaitingAnswer, .receiving] {
            #expect(limit(phase, timeout: nil) == nil)
        }
    }

    @Test func `the next check is due at the limit, and 5 s later at the latest`() {
        var watch = StallWatch(
            HTTPRequest(.put, "http://a/"), contentMax: .seconds(30), at: start)
        #expect(watch.nextCheck(.sending, from: start) == start + .seconds(5))
        let later = start + .seconds(28)
        #expect(watch.nextCheck(.sending, from: later) == start + .seconds(30))
        watch.noteActivity(at: later)
        #expect(watch.nextCheck(.sending, from: later) == later + .seconds(5))
    }
}
