package import FoundationEssentials

/// The progress of a sync, or of an unmount that waits for one.
package struct SyncProgress: Codable, Hashable, Sendable {
    package struct Upload: Codable, Hashable, Sendable {
        package var path: String
        /// 0 to 100; 0 if no bytes are to be sent.
        package var percent: Int
        /// What is done on the remote; nil from a daemon of an earlier version.
        package var operation: StatusItem.Operation?
        /// As in ``StatusItem``.
        package var startedAt: Date?
        package var lastSignAt: Date?

        package init(
            path: String, percent: Int, operation: StatusItem.Operation? = nil,
            startedAt: Date? = nil, lastSignAt: Date? = nil
        ) {
            self.path = path
            self.percent = percent
            self.operation = operation
            self.startedAt = startedAt
            self.lastSignAt = lastSignAt
        }
    }

    package struct Failure: Codable, Hashable, Sendable {
        package var path: String
        package var error: Problem

        package init(path: String, error: Problem) {
            self.path = path
            self.error = error
        }
    }

    /// An item whose last attempt failed, and which is retried; in the last report of a sync that took
    /// too long, any item that is not on the remote.
    package struct Wait: Codable, Hashable, Sendable {
        package var path: String
        package var error: Problem
        /// Failed attempts since the last success.
        package var attempts: Int
        /// The time of the next attempt; nil if it is under way or not known.
        package var retryAt: Date?
        /// The time of the change; nil from a daemon of an earlier version.
        package var since: Date?

        package init(
            path: String, error: Problem, attempts: Int, retryAt: Date?, since: Date? = nil
        ) {
            self.path = path
            self.error = error
            self.attempts = attempts
            self.retryAt = retryAt
            self.since = since
        }
    }

    /// Items with changes that are not on the remote.
    package var pending: UInt64 = 0
    /// Bytes still to be sent for these changes.
    package var bytesPending: UInt64 = 0
    /// Bytes sent since the request.
    package var bytesSent: UInt64 = 0
    /// Some of the current uploads and other changes of the remote, for display.
    package var uploading: [Upload] = []
    /// Some of the items that failed and are retried, see ``Wait``; nil if there are none.
    package var waiting: [Wait]?
    /// Some of the items that wait for their turn; nil if others are under way or failed, and during the
    /// first seconds.
    package var queued: [Wait]?
    /// The reason why nothing can be sent now: the remote does not answer.
    package var unreachable: Problem?
    /// Failures for which the sync does not wait: those that only the user can fix and, in the last
    /// report, those of ``SyncPatience``.
    package var failed: [Failure] = []
    /// The number of items that these failures keep from the remote: all that are pending if the
    /// credentials are refused. ``failed`` may list fewer.
    package var unsent: UInt64 = 0
    /// Remote deletions that wait for a confirmation; nil if there are none.
    package var held: UInt64?
    /// Items that --exclude keeps on this machine; nil if there are none.
    package var excluded: UInt64?
    /// Files among ``pending`` that are still open for writing, and whose bytes so far are on the remote; nil
    /// if there are none. The sync does not wait for their close.
    package var open: UInt64?
    /// The reason why some items are held, if any are.
    package var resting: String?
    /// The reason why the pending changes are not known, if the state cannot be read; the numbers
    /// are then meaningless.
    package var unverified: Problem?
    /// Whether this is the last report as the sync took too long.
    @OmittedIfFalse package var isTimedOut = false
    /// Whether this is the last report: everything is on the remote or in
    /// ``failed``, or the time is over.
    package var isDone = false

    private enum CodingKeys: String, CodingKey {
        case pending, bytesPending, bytesSent, uploading, waiting, queued, unreachable, failed,
            unsent, held, excluded, open, resting, unverified
        case isTimedOut = "timedOut"
        case isDone = "done"
    }
}

extension SyncProgress {
    /// The pending changes that have something to send, as in ``StatusCounts``.
    package var remaining: UInt64 { pending - min(pending, open ?? 0) }

    package init(isDone: Bool) {
        self.init()
        self.isDone = isDone
    }
}
