/// Decides how many fetches of metadata that no request awaits are in progress. Has no clock: time is
/// an argument.
///
/// Requests to a host start in their order, so that an awaited one is behind those made ahead. The
/// window grows with each answer that took hardly longer than the quickest one. It shrinks if even the
/// quickest of a round of answers took much longer: then there is a line of requests. Single slow
/// answers show none.
struct LookWindow {
    private static let start = 16
    /// One place of a host takes no longer for these than it would for an awaited one.
    private static let min = 4
    /// Maximum time in line, unless the host needs as long for the quickest answer.
    private static let delay: Duration = .milliseconds(500)
    private static let delayMax: Duration = .seconds(2)

    private(set) var current = start
    /// The shortest time that an answer has taken since nothing was in progress.
    private var quickest: Duration?
    /// The answers to requests made since the window last shrank, up to one for each place, and the
    /// shortest time that one of them has taken.
    private var round: (count: Int, quickest: Duration) = (0, .zero)
    private var shrunkAt: Duration?

    /// Notes the end of a fetch.
    ///
    /// - Parameters:
    ///   - isLast: Whether nothing else is in progress.
    ///   - max: Maximum number of fetches in progress.
    mutating func note(begunAt start: Duration, at now: Duration, isLast: Bool, max: Int) {
        let took = now - start
        let least = Swift.min(took, quickest ?? took)
        quickest = isLast ? nil : least
        // Looking at a directory takes up to three requests.
        let allowed = Swift.min(Swift.max(Self.delay, least * 2), Self.delayMax)
        // An answer shows the line as it was when the request was made.
        if took - least <= allowed / 2 { current = Swift.min(max, current + 1) }
        if let shrunkAt, start < shrunkAt { return }
        round.quickest = round.count == 0 ? took : Swift.min(round.quickest, took)
        round.count += 1
        guard round.count >= current else { return }
        round.count = 0
        guard round.quickest - least > allowed else { return }
        current = Swift.max(Self.min, current / 2)
        shrunkAt = now
    }
}
