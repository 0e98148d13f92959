import Testing

@testable import Engine

@Suite struct RecentBytesTests {
    @Test func `a rate is the average of the last seconds, and ends with them`() {
        var recent = RecentBytes()
        #expect(recent.perSecond(at: .seconds(1)) == 0)
        for second in 0..<20 { recent.note(1_000, at: .milliseconds(second * 1_000 + 500)) }
        #expect((900...1_100).contains(recent.perSecond(at: .seconds(20) - .milliseconds(1))))
        #expect(recent.perSecond(at: .seconds(22)) > 0)
        #expect(recent.perSecond(at: .seconds(25)) == 0)
    }

    @Test func `a transfer that has just begun has the rate of its first second`() {
        var recent = RecentBytes()
        recent.note(5_000, at: .milliseconds(100_900))
        #expect(recent.perSecond(at: .milliseconds(101_000)) == 5_000)
        recent.note(5_000, at: .milliseconds(102_900))
        #expect(recent.perSecond(at: .milliseconds(102_900)) == 5_000)
    }
}
