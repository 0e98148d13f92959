import Testing

@testable import Transport

@Suite struct StallWatchTests {
    private let start = ContinuousClock.now

    /// Returns the seconds without a byte after which a transfer counts as stalled.
    private func limit(
        _ phase: StallWatch.Phase, timeout: Int?
    ) -> Int? {
        let request = HTTPRequest(
            .put, "http://a/", stallTimeout: timeout.map { .seconds($0) })
        var watch = StallWatch(request, at: start)
        return (0...1_000).first {
            watch.isStalled(phase, unsent: 0, at: start + .seconds($0))
        }
    }

    @Test func `the body of a refusal is awaited for 5 s, even without a timeout`() {
        #expect(limit(.refused(at: start), timeout: nil) == 5)
        #expect(limit(.refused(at: start), timeout: 600) == 5)
    }

    @Test func `without a timeout nothing else stalls`() {
        for phase in [StallWatch.Phase.awaitingAnswer, .receiving] {
            #expect(limit(phase, timeout: nil) == nil)
        }
    }

    @Test func `bytes that leave the kernel's buffer count as activity`() {
        var watch = StallWatch(HTTPRequest(.put, "http://a/"), at: start)
        let stalls = [(30, 900), (60, 800), (89, 800), (90, 800)].map { second, unsent in
            watch.isStalled(.awaitingAnswer, unsent: unsent, at: start + .seconds(second))
        }
        #expect(stalls == [false, false, false, true])
    }

    @Test func `the next check is due at the limit, and 5 s later at the latest`() {
        var watch = StallWatch(HTTPRequest(.put, "http://a/"), at: start)
        #expect(watch.nextCheck(.awaitingAnswer, from: start) == start + .seconds(5))
        let later = start + .seconds(28)
        #expect(watch.nextCheck(.awaitingAnswer, from: later) == start + .seconds(30))
        watch.noteActivity(at: later)
        #expect(watch.nextCheck(.awaitingAnswer, from: later) == later + .seconds(5))
    }
}
