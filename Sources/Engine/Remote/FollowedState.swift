/// The state of one directory according to the reports of the remote.
struct FollowedState {
    /// The key under which the remote follows it, or is asked to; nil if neither.
    var key: ObjectKey? { didSet { if key != oldValue { isConfirmed = false } } }
    /// Whether the remote has answered that it follows it.
    var isConfirmed = false
    /// Whether the last listing shows all changes that were not reported after it.
    var isVouched = false
    /// Whether the listing in progress, if any, vouches for nothing.
    var isDoubtful = false
    /// When it is listed although nothing was reported.
    var safetyDue: Duration = .zero
    /// The time of the first report that no listing has answered.
    private(set) var report: Duration?
    private var lastReport: Duration = .zero
    /// That of the first one that the listing in progress answers.
    private var answered: Duration?
    private var pace = ReportPace()

    /// When it is listed for a report; nil if there is none.
    var reportDue: Duration? { report.map { pace.due(reportedAt: $0, lastAt: lastReport) } }

    mutating func noteReport(at now: Duration) {
        report = report ?? now
        lastReport = now
    }

    /// Records that a listing begins, which answers the reports so far.
    mutating func noteListing() {
        (isVouched, isDoubtful) = (false, false)
        answered = answered ?? report
        report = nil
    }

    /// Records that a refresh has ended. If it could not list the directory, the next one is put off.
    mutating func noteRefresh(at now: Duration) {
        guard let report, let reportDue, reportDue <= now else { return }
        pace.noteListing(for: report, busy: .zero, hasNews: false, at: now)
    }

    /// Records the end of a listing. One that has failed answers no report, unless the directory is gone.
    mutating func noteEnd(isAnswer: Bool, busy: Duration, hasNews: Bool, at now: Duration) {
        pace.noteListing(for: answered, busy: busy, hasNews: hasNews, at: now)
        if !isAnswer, let answered { report = min(answered, report ?? answered) }
        answered = nil
    }
}
