import Testing
import Transport

/// Simulated time: no test here waits.
@Suite struct `A token bucket` {
    @Test func `lets bytes of a tenth of a second move at once, then as many as the rate allows`() {
        var bucket = TokenBucket(bytesPerSecond: 1_000, at: .zero)
        #expect(bucket.opening(at: .zero) == .zero)
        bucket.take(100, at: .zero)
        #expect(bucket.opening(at: .zero) == .milliseconds(1))
        bucket.take(1_000, at: .milliseconds(1))
        #expect(abs((bucket.opening(at: .milliseconds(1)) - .seconds(1)) / .milliseconds(1)) < 2)
    }

    @Test func `saves up no more than that during a pause`() {
        var bucket = TokenBucket(bytesPerSecond: 1_000, at: .zero)
        bucket.take(500, at: .seconds(3_600))
        // 100 bytes were there, 400 are owed.
        let opening = bucket.opening(at: .seconds(3_600)) - .seconds(3_600)
        #expect(abs((opening - .milliseconds(401)) / .milliseconds(1)) < 1)
    }

    @Test(arguments: [UInt64(8 << 10), 1 << 20, 100 << 20])
    func `keeps to its rate, whatever the size of the pieces`(bytesPerSecond: UInt64) {
        var bucket = TokenBucket(bytesPerSecond: bytesPerSecond, at: .zero)
        var (now, moved) = (Duration.zero, 0)
        for piece in [1, 16 << 10, 700, 128 << 10, 3, 64 << 10, 16 << 10, 1 << 20] {
            now = max(now, bucket.opening(at: now))
            bucket.take(piece, at: now)
            moved += piece
        }
        let seconds = Double(now.components.seconds) + Double(now.components.attoseconds) / 1e18
        // The last piece may move before it is paid, and a tenth of a second was there.
        let paid = Double(moved - (1 << 20)) - Double(bytesPerSecond) / 10
        #expect(seconds >= max(0, paid) / Double(bytesPerSecond))
        #expect(seconds <= max(0, paid + 1) / Double(bytesPerSecond) + 0.001)
    }

    @Test func `lets urgent bytes move into a debt`() {
        var bucket = TokenBucket(bytesPerSecond: 1_000, at: .zero)
        bucket.take(600, at: .zero)
        #expect(bucket.opening(at: .zero) > .zero)
        #expect(bucket.opening(at: .zero, debtMax: .seconds(1)) == .zero)
        bucket.take(600, at: .zero)
        #expect(bucket.opening(at: .zero, debtMax: .seconds(1)) > .zero)
    }
}
