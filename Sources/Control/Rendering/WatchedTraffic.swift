/// How fast the bytes of a mount move, and how far the pending ones are, as its reports tell. Time is an
/// argument.
package struct WatchedTraffic: Hashable, Sendable {
    private struct Sample: Hashable {
        let time: Duration
        let sent: UInt64
        let received: UInt64
    }

    /// Rates are those of the last seconds.
    private static let window: Duration = .seconds(5)

    private var samples: [Sample] = []
    /// The bytes that had been sent when the changes that are pending began to be.
    private var sentAtStart: UInt64?
    /// The bytes still to be sent.
    package private(set) var bytesLeft: UInt64 = 0

    package init() {}

    package mutating func note(_ report: StatusReport, at now: Duration) {
        guard let traffic = report.traffic else { return }
        bytesLeft = report.bytesLeft
        if report.counts.remaining == 0 {
            sentAtStart = nil
        } else if sentAtStart == nil {
            sentAtStart = traffic.sent
        }
        samples.append(Sample(time: now, sent: traffic.sent, received: traffic.received))
        // One from before the window stays, as reports come only with changes.
        while samples.count > 2, now - samples[1].time > Self.window { samples.removeFirst() }
    }

    package func sentPerSecond(at now: Duration) -> Double { rate(\.sent, at: now) }
    package func receivedPerSecond(at now: Duration) -> Double { rate(\.received, at: now) }

    private func rate(_ bytes: KeyPath<Sample, UInt64>, at now: Duration) -> Double {
        guard let last = samples.last else { return 0 }
        let start = samples.last { now - $0.time > Self.window } ?? samples[0]
        guard last[keyPath: bytes] > start[keyPath: bytes], now > start.time else { return 0 }
        let span = min(max(now - start.time, .milliseconds(500)), Self.window * 2)
        return Double(last[keyPath: bytes] - start[keyPath: bytes]) / span.inSeconds
    }

    /// How much of the pending bytes has been sent, from 0 to 1; nil if none are to be sent.
    package var fraction: Double? {
        guard let sentAtStart, let last = samples.last else { return nil }
        let done = last.sent - min(last.sent, sentAtStart)
        let total = done + bytesLeft
        return total == 0 ? nil : Double(done) / Double(total)
    }

    /// In seconds; nil if it cannot be told.
    package func timeLeft(at now: Duration) -> Double? {
        let rate = sentPerSecond(at: now)
        return bytesLeft > 0 && rate >= 1 ? Double(bytesLeft) / rate : nil
    }
}
