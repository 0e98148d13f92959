/// How long to wait before the next try: twice as long each time up to a bound, with jitter, so
/// that many who failed together do not come back together.
struct Backoff {
    private var step: Duration
    private let longest: Duration

    init(first: Duration, longest: Duration, attempts: Int = 0) {
        self.longest = longest
        step = first
        for _ in 0..<attempts where step < longest { step *= 2 }
        step = min(step, longest)
    }

    /// Between half a step and a whole one; the next step is twice as long.
    mutating func next(_ random: () -> UInt64) -> Duration {
        let fraction = 0.5 + Double(random() >> 11) / Double(1 << 53) / 2
        defer { step = min(step * 2, longest) }
        return step * fraction
    }
}
