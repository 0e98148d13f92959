/// Decides when a file that stays open for writing is uploaded.
///
/// That is after ``Rules/interval``, and so rarely that uploads take at most a tenth of the time. A
/// file of which a snapshot is costly waits for a pause of the writers too.
struct LongWriter: Hashable, Sendable {
    struct Rules: Hashable, Sendable {
        /// The least time between two uploads, and before the first one.
        var interval: Duration
        /// The time without a change that counts as a pause.
        var pause: Duration
    }

    /// The least time between two uploads, as a multiple of the time that the last one took.
    static let restFactor = 9

    /// The earliest time of the next upload; nil before the first change or question.
    private(set) var due: Duration?
    private var lastChange: Duration = .zero
    /// Whether a user asked for an upload now.
    private var isRequested = false

    mutating func noteChange(at now: Duration, _ rules: Rules) {
        lastChange = now
        due = due ?? now + rules.interval
    }

    /// Makes the upload due now, also if the file is being written.
    mutating func request() { isRequested = true }

    /// Returns the time of the next upload. That of a file opened with changes begins with the first
    /// question for it.
    mutating func nextUpload(isCostly: Bool, at now: Duration, _ rules: Rules) -> Duration {
        if isRequested { return now }
        let due = due ?? now + rules.interval
        self.due = due
        return isCostly ? max(due, lastChange + rules.pause) : due
    }

    mutating func noteStart(at now: Duration, _ rules: Rules) {
        isRequested = false
        due = now + rules.interval
    }

    mutating func noteEnd(startedAt start: Duration, at now: Duration, _ rules: Rules) {
        due = now + max(rules.interval, (now - start) * Self.restFactor)
    }
}
