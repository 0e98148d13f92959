import FoundationEssentials

extension StatusItem.Operation {
    /// The word for it while it is done on the remote.
    var transferWord: String {
        switch self {
        case .delete: "deleting"
        case .move: "moving"
        case .create: "creating"
        case .attributes: "updating"
        default: "uploading"
        }
    }
}

/// How long an attempt to send an item has been under way, and how long the remote has been silent.
struct AttemptTimes {
    let startedAt: Date
    /// nil if it is not known.
    let lastSignAt: Date?

    /// Shorter times are of no interest.
    private static let ageMin: TimeInterval = 2
    /// A connection may stand still for shorter times.
    private static let silenceMin: TimeInterval = 10
    /// The request itself counts as a sign while it is sent. Times come in whole seconds, so that its sign may have
    /// the next one.
    private static let requestMax: TimeInterval = 1

    /// Returns nil during the first seconds.
    func text(now: Date) -> String? {
        guard now.timeIntervalSince(startedAt) >= Self.ageMin else { return nil }
        let age = "for " + HumanDuration.format(seconds: now.timeIntervalSince(startedAt))
        guard let lastSignAt else { return age }
        let silence = now.timeIntervalSince(lastSignAt)
        if lastSignAt <= startedAt + Self.requestMax, silence >= Self.ageMin {
            return age + " without an answer"
        }
        guard silence >= Self.silenceMin else { return age }
        return age + ", no answer for " + HumanDuration.format(seconds: silence)
    }
}

extension SyncProgress.Upload {
    /// `a/b.mov: uploading 40 % (for 12 s)`.
    func text(now: Date) -> String {
        let word = operation?.transferWord ?? "uploading"
        let hasBytes = operation.map { $0 == .upload } ?? true
        let times = startedAt.flatMap {
            AttemptTimes(startedAt: $0, lastSignAt: lastSignAt).text(now: now)
        }
        return "\(path.singleLine): \(word)" + (hasBytes ? " \(percent) %" : "")
            + (times.map { " (\($0))" } ?? "")
    }
}
