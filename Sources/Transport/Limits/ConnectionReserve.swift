/// Decides how many connections stay open for later requests, without clock or I/O: time is an argument.
///
/// As many as requests were active at once a moment ago, since another one costs up to three round trips.
/// The surplus of a burst is closed soon: a server with a limit of connections accepts no others until idle
/// ones have ended, and a request that had got one of these would wait for that.
struct ConnectionReserve {
    /// The number that always stays open.
    static let least = 8

    /// The time for which a burst counts, once or twice.
    private let period: Duration
    private var peak = 0
    /// The one of the period before.
    private var formerPeak = 0
    private var end: Duration

    init(period: Duration, now: Duration) {
        self.period = period
        end = now + period
    }

    /// Notes the number of active requests.
    ///
    /// - Returns: The number of connections to keep.
    mutating func note(active: Int, at now: Duration) -> Int {
        if now >= end {
            // After a longer time without a note, the former peak is of another burst.
            formerPeak = now < end + period ? peak : 0
            peak = 0
            end = now + period
        }
        peak = max(peak, active)
        return max(peak, formerPeak, Self.least)
    }
}
