package import FoundationEssentials

/// The condition of one file, directory or link.
package struct StatusItem: Codable, Hashable, Sendable {
    /// The location of its bytes, as in `user.apus.state`.
    package enum State: String, Codable, Hashable, Sendable {
        case remote, partial, local, dirty, excluded, uploading
    }

    /// The next step towards agreement of local and remote.
    package enum Operation: String, Codable, Hashable, Sendable {
        case create, upload, move, delete, attributes, download, conflict
    }

    /// Relative to the mount point, `/` between names, none in front; empty for the root.
    package var path: String
    package var state: State
    /// nil if the next step is not known yet, and for clean items.
    package var operation: Operation?
    /// The file's size; 0 for other kinds.
    package var bytes: UInt64 = 0
    /// The number of bytes that the current attempt has sent.
    package var bytesSent: UInt64 = 0
    /// The number of local bytes during a download; otherwise nil.
    package var bytesHere: UInt64?
    /// The progress of the transfer, 0 to 100, rounded down; 0 for an empty file.
    package var percent = 0
    /// Failed attempts since the last success.
    package var attempts = 0
    /// The failure of the last attempt, or the reason why the item is held.
    package var error: Problem?
    /// Whether an automatic retry follows soon.
    @OmittedIfFalse package var isPassing = false
    /// The time of that retry, if known.
    package var retryAt: Date?
    /// The start of the wait; nil for clean items.
    package var since: Date?
    /// The start of the current attempt to send it; nil if there is none.
    package var startedAt: Date?
    /// The last bytes of this attempt that were sent or answered; at first its start.
    package var lastSignAt: Date?
    /// Whether it is open for writing, and too large to be uploaded while it is written.
    @OmittedIfFalse package var awaitsPause = false
    /// Whether it is open for writing, and all of it so far is on the remote.
    @OmittedIfFalse package var isOpenAndSent = false
    /// Of a conflict, the path of the remote version; ``path`` is that of the local one.
    package var conflictsWith: String?
    /// The target of a symbolic link.
    package var target: String?
    /// Whether that link is not followed because it leads out of the mount.
    @OmittedIfFalse package var isContained = false

    private enum CodingKeys: String, CodingKey {
        case path, state, operation, bytes, bytesSent, bytesHere, percent, attempts, error, retryAt,
            since, startedAt, lastSignAt, conflictsWith, target
        case isPassing = "passing"
        case awaitsPause
        case isOpenAndSent = "openAndSent"
        case isContained = "contained"
    }
}

extension StatusItem {
    /// An item with the progress of its transfer.
    package init(
        path: String, state: State, bytes: UInt64, bytesSent: UInt64, bytesHere: UInt64?
    ) {
        let done = state == .uploading ? bytesSent : bytesHere ?? bytesSent
        self.init(
            path: path, state: state, bytes: bytes, bytesSent: bytesSent, bytesHere: bytesHere,
            percent: bytes == 0 ? 0 : Int(Double(min(done, bytes)) / Double(bytes) * 100))
    }
}
