/// How far a sync, or an unmount that waits for one, has come.
package struct SyncProgress: Codable, Hashable, Sendable {
    package struct Upload: Codable, Hashable, Sendable {
        package var path: String
        /// 0 to 100.
        package var percent: Int

        package init(path: String, percent: Int) {
            self.path = path
            self.percent = percent
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

    /// Items with changes that are not on the remote.
    package var pending: UInt64
    /// Bytes that these changes have still to send.
    package var bytesPending: UInt64
    /// Bytes sent since the sync was asked for.
    package var bytesSent: UInt64
    /// Some of what is being sent now; a handful, for people.
    package var uploading: [Upload]
    /// What the sync does not wait for any longer, since only a person can help.
    package var failed: [Failure]
    /// How many items these keep from the remote: all that is pending, where the credentials are refused.
    /// `failed` may tell fewer.
    package var unsent: UInt64
    /// Why some of it rests, where it does.
    package var resting: String?
    /// Why it is not known what is pending, where the mount's state cannot be read; the numbers above
    /// mean nothing then.
    package var unverified: Problem?
    /// Whether this is the last word: everything is on the remote, or has failed for good.
    package var isDone: Bool

    package init(
        pending: UInt64 = 0, bytesPending: UInt64 = 0, bytesSent: UInt64 = 0,
        uploading: [Upload] = [], failed: [Failure] = [], unsent: UInt64 = 0,
        resting: String? = nil, unverified: Problem? = nil, isDone: Bool = false
    ) {
        self.pending = pending
        self.bytesPending = bytesPending
        self.bytesSent = bytesSent
        self.uploading = uploading
        self.failed = failed
        self.unsent = unsent
        self.resting = resting
        self.unverified = unverified
        self.isDone = isDone
    }

    private enum CodingKeys: String, CodingKey {
        case pending, bytesPending, bytesSent, uploading, failed, unsent, resting, unverified
        case isDone = "done"
    }
}
