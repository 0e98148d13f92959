package import FoundationEssentials

/// How things stand with one file, directory or link.
package struct StatusItem: Codable, Hashable, Sendable {
    /// Where its bytes are. The words of `user.apus.state`.
    package enum State: String, Codable, Hashable, Sendable {
        case remote, partial, local, dirty, uploading
    }

    /// What has to happen next until local and remote agree.
    package enum Operation: String, Codable, Hashable, Sendable {
        case create, upload, move, delete, attributes, download, conflict
    }

    /// Relative to the mount point, `/` between names, none in front; empty for the root.
    package var path: String
    package var state: State
    /// nil for what is clean.
    package var operation: Operation?
    /// The file's size; 0 for the other kinds.
    package var bytes: UInt64
    /// How many of them the attempt on its way has sent.
    package var bytesSent: UInt64
    /// How many of them are here, while the others are being fetched; else nil.
    package var bytesHere: UInt64?
    /// Attempts that failed since the last success.
    package var attempts: Int
    /// What the last attempt said, if it failed.
    package var error: Problem?
    /// Whether that is tried again soon by itself.
    package var isPassing: Bool
    /// When, where that is known.
    package var retryAt: Date?
    /// Since when it waits; nil for what is clean.
    package var since: Date?
    /// Of a conflict, the path of the remote's version; `path` is the one made here.
    package var conflictsWith: String?
    /// Where a symbolic link points.
    package var target: String?
    /// Whether programs cannot follow that link, as it leads out of the mount.
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

    /// How much of it is sent, or here while it is fetched, 0 to 100, rounded down.
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

    /// `percent` is told to spare readers the division, and never read back.
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

/// `part` of `whole` in whole percent, 0 to 100; 0 of nothing is 0.
func percentage(of part: UInt64, in whole: UInt64) -> Int {
    whole == 0 ? 0 : Int(Double(min(part, whole)) / Double(whole) * 100)
}
