package import FoundationEssentials

/// The condition of one file, directory or link.
package struct StatusItem: Codable, Hashable, Sendable {
    /// The location of its bytes, as in `user.apus.state`.
    package enum State: String, Codable, Hashable, Sendable {
        case remote, partial, local, dirty, uploading
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
    package var bytes: UInt64
    /// The number of bytes that the current attempt has sent.
    package var bytesSent: UInt64
    /// The number of local bytes during a download; otherwise nil.
    package var bytesHere: UInt64?
    /// Failed attempts since the last success.
    package var attempts: Int
    /// The failure of the last attempt, or the reason why the item is held.
    package var error: Problem?
    /// Whether an automatic retry follows soon.
    package var isPassing: Bool
    /// The time of that retry, if known.
    package var retryAt: Date?
    /// The start of the wait; nil for clean items.
    package var since: Date?
    /// Of a conflict, the path of the remote version; ``path`` is that of the local one.
    package var conflictsWith: String?
    /// The target of a symbolic link.
    package var target: String?
    /// Whether that link is not followed because it leads out of the mount.
    package var isContained: Bool

    package init(
        path: String, state: State, operation: Operation? = nil, bytes: UInt64 = 0,
        bytesSent: UInt64 = 0, bytesHere: UInt64? = nil, attempts: Int = 0, error: Problem? = nil,
        isPassing: Bool = false, retryAt: Date? = nil, since: Date? = nil,
        conflictsWith: String? = nil, target: String? = nil,
        isContained: Bool = false
    ) {
        self.path = path
        self.state = state
        self.operation = operation
        self.bytes = bytes
        self.bytesSent = bytesSent
        self.bytesHere = bytesHere
        self.attempts = attempts
        self.error = error
        self.isPassing = isPassing
        self.retryAt = retryAt
        self.since = since
        self.conflictsWith = conflictsWith
        self.target = target
        self.isContained = isContained
    }

    /// The progress of the transfer, 0 to 100, rounded down.
    package var percent: Int {
        percentage(of: state == .uploading ? bytesSent : bytesHere ?? bytesSent, in: bytes)
    }
}

extension StatusItem {
    private enum CodingKeys: String, CodingKey {
        case path, state, operation, bytes, bytesSent, bytesHere, percent, attempts, error, retryAt,
            since,
            conflictsWith, target
        case isPassing = "passing"
        case isContained = "contained"
    }

    /// Includes `percent` for the reader's convenience; it is not decoded.
    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(path, forKey: .path)
        try container.encode(state, forKey: .state)
        try container.encodeIfPresent(operation, forKey: .operation)
        try container.encode(bytes, forKey: .bytes)
        try container.encode(bytesSent, forKey: .bytesSent)
        try container.encodeIfPresent(bytesHere, forKey: .bytesHere)
        try container.encode(percent, forKey: .percent)
        try container.encode(attempts, forKey: .attempts)
        try container.encodeIfPresent(error, forKey: .error)
        if isPassing { try container.encode(isPassing, forKey: .isPassing) }
        try container.encodeIfPresent(retryAt, forKey: .retryAt)
        try container.encodeIfPresent(since, forKey: .since)
        try container.encodeIfPresent(conflictsWith, forKey: .conflictsWith)
        try container.encodeIfPresent(target, forKey: .target)
        if isContained { try container.encode(isContained, forKey: .isContained) }
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        path = try container.decode(String.self, forKey: .path)
        state = try container.decode(State.self, forKey: .state)
        operation = try container.decodeIfPresent(Operation.self, forKey: .operation)
        bytes = try container.decode(UInt64.self, forKey: .bytes)
        bytesSent = try container.decode(UInt64.self, forKey: .bytesSent)
        bytesHere = try container.decodeIfPresent(UInt64.self, forKey: .bytesHere)
        attempts = try container.decode(Int.self, forKey: .attempts)
        error = try container.decodeIfPresent(Problem.self, forKey: .error)
        isPassing = try container.decodeIfPresent(Bool.self, forKey: .isPassing) ?? false
        retryAt = try container.decodeIfPresent(Date.self, forKey: .retryAt)
        since = try container.decodeIfPresent(Date.self, forKey: .since)
        conflictsWith = try container.decodeIfPresent(String.self, forKey: .conflictsWith)
        target = try container.decodeIfPresent(String.self, forKey: .target)
        isContained = try container.decodeIfPresent(Bool.self, forKey: .isContained) ?? false
    }
}

/// Returns `part` of `whole` in percent, rounded down, 0 to 100; 0 if `whole` is 0.
func percentage(of part: UInt64, in whole: UInt64) -> Int {
    whole == 0 ? 0 : Int(Double(min(part, whole)) / Double(whole) * 100)
}
