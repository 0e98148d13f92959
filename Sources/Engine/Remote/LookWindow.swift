/// Decides how many fetches of metadata that no request awaits are in progress. Has no clock: time is
/// an argument.
///
/// Requests to a host start in their order, so that an awaited one is behind those made ahead. The
/// window grows with each answer as long as answers take hardly longer than the quickest one; the rest
/// of their time is spent in line, for which there is a maximum far below
/// ``MetadataFetcher/patience``.
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
        let delay = took - least
        if delay <= allowed {
            // An answer shows the line as it was when the request was made.
            if delay <= allowed / 2 { current = Swift.min(max, current + 1) }
            return
        }
        // What began before the window shrank does not show the effect.
        if let shrunkAt, start < shrunkAt { return }
        current = Swift.max(Self.min, current / 2)
        shrunkAt = now
    }
}
