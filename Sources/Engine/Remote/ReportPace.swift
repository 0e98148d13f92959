/// Decides how soon a directory is listed after a report of a change: at once after a pause without
/// any, and the less often the longer they go on. Has no clock: time is an argument.
struct ReportPace {
    /// The delay of a listing after the last report, and its bound after the first one, for changes that
    /// belong together.
    static let settleTime: Duration = .milliseconds(50)
    static let settleTimeMax: Duration = .milliseconds(250)
    /// The least pause after a listing.
    static let restMin: Duration = .milliseconds(200)
    /// The least pause, as a multiple of the listing's duration.
    static let restFactor = 4
    /// The longest pause while listings have news, so that each change is seen within half a second, and
    /// otherwise: then it is our own changes that are reported. Longer for listings that take long.
    static let newsRestMax: Duration = .milliseconds(400)
    static let quietRestMax: Duration = .milliseconds(25_600)

    private var rest: Duration = .zero
    private var restEnd: Duration = .zero

    /// Returns when a directory is listed for a report.
    func due(reportedAt first: Duration, lastAt last: Duration) -> Duration {
        max(min(last + Self.settleTime, first + Self.settleTimeMax), restEnd)
    }

    /// Records the end of a listing.
    ///
    /// - Parameters:
    ///   - report: The first report that it answers; nil if it had another reason.
    ///   - busy: Its duration.
    ///   - hasNews: Whether it found a change.
    mutating func noteListing(
        for report: Duration?, busy: Duration, hasNews: Bool, at now: Duration
    ) {
        let least = max(Self.restMin, busy * Self.restFactor)
        let longest =
            hasNews
            ? max(Self.newsRestMax, busy * RefreshSchedule.restFactor)
            : max(
                Self.quietRestMax,
                busy * (RefreshSchedule.restFactor << RefreshSchedule.doublingsMax))
        // Uploads one after the other are reported one by one.
        let patience = hasNews ? rest : rest * 4
        let continues = report.map { $0 < restEnd + patience } ?? false
        rest = continues ? min(max(rest * 2, least), longest) : least
        restEnd = now + rest
    }
}
