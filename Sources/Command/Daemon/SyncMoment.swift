import Control
import Engine

/// A sync, or an unmount that waits for one, at one moment.
struct SyncMoment {
    private(set) var unanswered: [SyncProgress.Failure] = []
    var progress = SyncProgress(isDone: true)
    private var transferring: UInt64 = 0
    private var refusal: Problem?
    /// Directories that were counted for one of several paths below them.
    private var above: Set<InodeNumber> = []

    /// The number of failing items in a report, and of those under way.
    static let waitingMax = 20
    private static let uploadingMax = 5

    /// Whether anything is being sent, other than ``unanswered``.
    var isSending: Bool { transferring > UInt64(unanswered.count) }

    /// Adds what is pending below one of the paths of the sync.
    mutating func add(_ status: EngineStatus) {
        var status = status
        status.leaveOut(&above)
        progress.pending += status.pending.count
        if status.pending.held > 0 {
            progress.held = (progress.held ?? 0) + status.pending.held
        }
        if status.pending.excluded > 0 { progress.excluded = status.pending.excluded }
        if status.pending.openAndSent > 0 {
            progress.open = (progress.open ?? 0) + status.pending.openAndSent
        }
        progress.bytesPending += status.pending.bytes
        progress.isDone = progress.isDone && status.pending.isSettled
        if status.reachability.isUnauthorized, !status.pending.isSettled {
            // Nothing is sent until the user has renewed them.
            refusal = Problem(unauthorized: status.reachability)
            progress.unsent += status.pending.remaining
        } else {
            progress.unsent += status.pending.failedFinally
        }
        // The reasons of the deletion guard; see `docs/semantics.md`. Remote deletions are in
        // `held`.
        if let rest = status.items.lazy.compactMap(\.failure).first(where: {
            $0.kind == .busy && !$0.isHeldDeletion
        }) {
            progress.resting = rest.why + (rest.remedy.map { " (\($0))" } ?? "")
        }
        transferring += status.pending.transferring
        for item in status.items {
            addTransfer(of: item)
            addFailure(of: item)
        }
    }

    private mutating func addTransfer(of item: PendingItem) {
        let state = StatusItem(item)
        guard let transfer = item.transfer else { return }
        progress.uploading.append(
            .init(
                path: item.path, percent: state.percent, operation: state.operation,
                startedAt: state.startedAt, lastSignAt: state.lastSignAt))
        // An upload that stands still fails by itself.
        guard transfer.kind != .upload, let silence = item.silence,
            silence >= SyncPatience.silenceMax
        else { return }
        unanswered.append(
            .init(
                path: item.path,
                error: Problem(
                    what: "send \"\(item.path)\"",
                    why: "it \(transfer.kind.phrase), and the remote has not answered for "
                        + HumanDuration.format(seconds: Double(silence.components.seconds)),
                    remedy: "that goes on without this command")))
    }

    /// Adds the last failure of an item, if it has one.
    private mutating func addFailure(of item: PendingItem) {
        guard let failure = item.failure else { return }
        if failure.isFinal {
            progress.failed.append(.init(path: item.path, error: Problem(failure)))
        } else if failure.isPassing {
            progress.waiting = (progress.waiting ?? []) + [.init(item)]
        }
    }

    /// Completes the progress, after the last ``add(_:)``.
    mutating func finish(outage: (reason: String, duration: Duration)?) {
        if let refusal {
            progress.isDone = true
            progress.failed.insert(.init(path: "", error: refusal), at: 0)
        }
        progress.uploading = Array(progress.uploading.prefix(Self.uploadingMax))
        progress.waiting = progress.waiting.map { Array($0.prefix(Self.waitingMax)) }
        if !progress.isDone, let (reason, duration) = outage {
            let time = HumanDuration.format(seconds: Double(duration.components.seconds))
            progress.unreachable = Problem(
                what: "reach the remote",
                why: "the remote has not answered for \(time) (\(reason))",
                remedy: "check the connection; the changes are sent once it answers")
        }
    }
}

extension SyncProgress {
    /// Whether it has no reason for the wait.
    var isUnexplained: Bool {
        !isDone && pending > 0 && uploading.isEmpty && waiting == nil && unreachable == nil
            && resting == nil
    }
}

extension SyncProgress.Wait {
    /// A shorter silence of the remote is of no interest.
    private static let silenceMin: Duration = .seconds(3)

    /// The wait of any item that is not on the remote.
    init(_ item: PendingItem) {
        let state = StatusItem(item)
        let reason =
            switch item.transfer?.kind {
            case .upload: "it is being sent, \(state.percent) %"
            case let kind?: "it \(kind.phrase)"
            case nil where item.awaitsPause: "it is open for writing"
            case nil: "it waits for its turn"
            }
        let silence = item.silence.flatMap { silence in
            silence < Self.silenceMin
                ? nil
                : ", without an answer for "
                    + HumanDuration.format(seconds: Double(silence.components.seconds))
        }
        self.init(
            path: item.path,
            error: state.error
                ?? Problem(what: "send \"\(item.path)\"", why: reason + (silence ?? "")),
            attempts: item.attempts, retryAt: item.retry?.date, since: item.since.date)
    }
}

extension Transfer.Kind {
    /// What happens to the item, after "it".
    fileprivate var phrase: String {
        switch self {
        case .delete: "is being deleted on the remote"
        case .move: "is being moved on the remote"
        case .upload, .create, .change: "is being sent"
        }
    }
}
