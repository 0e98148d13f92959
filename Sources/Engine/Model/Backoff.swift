/// Exponential backoff: the delay doubles up to a limit, with jitter, so that requests that failed
/// together are not retried together.
struct Backoff {
    private var step: Duration
    private let longest: Duration

    init(first: Duration, longest: Duration, attempts: Int = 0) {
        self.longest = longest
        step = first
        for _ in 0..<attempts where step < longest { step *= 2 }
        step = min(step, longest)
    }

    /// Returns a delay between half the current step and a whole one, and doubles the step.
    mutating func next(_ random: () -> UInt64) -> Duration {
        let fraction = 0.5 + Double(random() >> 11) / Double(1 << 53) / 2
        defer { step = min(step * 2, longest) }
        return step * fraction
    }
}
