package import FoundationEssentials

/// How things stand with a mount, or with some paths of it.
package struct StatusReport: Codable, Hashable, Sendable {
    package var mountPoint: String
    package var source: String
    package var stateDirectory: String
    /// How many bytes local copies may take; nil from a daemon of an earlier version.
    package var cacheBytesMax: UInt64?
    /// When the folder became usable.
    package var since: Date
    package var counts: StatusCounts
    package var remote: RemoteReachability
    /// What is not clean: failed first, then uploading, then the rest, each by path; then what is
    /// being fetched, and conflicts.
    ///
    /// A path that was asked for and names a file is here in any case.
    package var items: [StatusItem]
    /// Whether there are more than the daemon lists.
    package var isTruncated: Bool
    /// Bytes that have lost their place, until somebody takes them away; nil for none.
    package var lostAndFound: LostAndFound?

    package init(
        mountPoint: String, source: String, stateDirectory: String, since: Date,
        counts: StatusCounts, remote: RemoteReachability, items: [StatusItem], isTruncated: Bool
    ) {
        self.mountPoint = mountPoint
        self.source = source
        self.stateDirectory = stateDirectory
        self.since = since
        self.counts = counts
        self.remote = remote
        self.items = items
        self.isTruncated = isTruncated
    }

    private enum CodingKeys: String, CodingKey {
        case mountPoint, source, stateDirectory, cacheBytesMax, since, counts, remote, items,
            lostAndFound
        case isTruncated = "truncated"
    }
}

/// Sums over everything below the paths that were asked for.
package struct StatusCounts: Codable, Hashable, Sendable {
    /// Files, directories and links that the daemon knows.
    package var items: UInt64
    /// Bytes that contents take on the local disk.
    package var localBytes: UInt64
    /// Items with changes that are not on the remote, failed ones included.
    package var pending: UInt64
    /// Bytes that these changes have still to send.
    package var pendingBytes: UInt64
    /// Those that are being sent now.
    package var uploading: UInt64
    /// Files that are being fetched.
    package var downloading: UInt64
    /// Those whose last attempt failed.
    package var failed: UInt64
    /// What the remote has deleted and somebody is to confirm; nil for nothing.
    package var held: HeldCounts?

    package init(
        items: UInt64 = 0, localBytes: UInt64 = 0, pending: UInt64 = 0, pendingBytes: UInt64 = 0,
        uploading: UInt64 = 0, downloading: UInt64 = 0, failed: UInt64 = 0
    ) {
        self.items = items
        self.localBytes = localBytes
        self.pending = pending
        self.pendingBytes = pendingBytes
        self.uploading = uploading
        self.downloading = downloading
        self.failed = failed
    }
}

/// Contents that are nobody's any more, kept in the state directory.
package struct LostAndFound: Codable, Hashable, Sendable {
    package var files: UInt64
    /// Absolute, of the directory that they lie in.
    package var path: String

    package init(files: UInt64, path: String) {
        self.files = files
        self.path = path
    }
}

/// Whether the store answers.
package struct RemoteReachability: Codable, Hashable, Sendable {
    package var isReachable: Bool
    /// Since when it is as it is.
    package var since: Date
    /// True where it can be reached, and does not take our credentials, so that everything rests.
    package var refusesCredentials: Bool?
    /// What the last failure said; nil while all is well.
    package var message: String?

    package init(
        isReachable: Bool, since: Date, refusesCredentials: Bool = false, message: String? = nil
    ) {
        self.isReachable = isReachable
        self.refusesCredentials = refusesCredentials ? true : nil
        self.since = since
        self.message = message
    }

    private enum CodingKeys: String, CodingKey {
        case since, refusesCredentials, message
        case isReachable = "reachable"
    }
}
