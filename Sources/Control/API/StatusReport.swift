package import FoundationEssentials

/// The condition of a mount, or of some paths in it.
package struct StatusReport: Codable, Hashable, Sendable {
    package var mountPoint: String
    package var source: String
    package var stateDirectory: String
    /// How many bytes local copies may take at present: less than configured if their disk is nearly
    /// full. nil from a daemon of an earlier version.
    package var cacheBytesMax: UInt64?
    /// The time at which the folder became usable.
    package var since: Date
    package var counts = StatusCounts()
    package var remote: RemoteReachability
    /// Everything that is not clean: failed items first, then those that wait longest; then held
    /// deletions and transfers beyond the limit, downloads and conflicts. A file that is requested by
    /// its path is always included.
    package var items: [StatusItem] = []
    /// Whether there are more items than ``items`` lists.
    package var isTruncated = false
    /// Contents that belong to no file, until the user removes them; nil if there are none.
    package var lostAndFound: LostAndFound?

    /// The number of files whose bytes the local disk has failed to store, and which are not uploaded
    /// yet; nil if there are none.
    package var unstored: UInt64?
    /// Whether the kernel reads local files by itself; nil from a daemon of an earlier version.
    package var passthrough: PassthroughStatus?
    /// Bytes to and from the remote, of the whole mount; nil from a daemon of an earlier version.
    package var traffic: TrafficCounts?
    /// What is kept on this machine, of the whole mount; nil if nothing is pinned.
    package var pins: PinCounts?
    /// The file or folder that a program has last tried to pin with the attribute, in vain; nil if there is
    /// none, or something was pinned or unpinned since.
    package var refusedPin: SyncProgress.Failure?

    private enum CodingKeys: String, CodingKey {
        case mountPoint, source, stateDirectory, cacheBytesMax, since, counts, remote, items,
            lostAndFound, unstored, passthrough, traffic, pins, refusedPin
        case isTruncated = "truncated"
    }
}

extension StatusReport {
    /// A report without items.
    package init(_ about: About, remote: RemoteReachability) {
        self.init(
            mountPoint: about.mountPoint, source: about.source,
            stateDirectory: about.stateDirectory, since: about.since, remote: remote)
    }
}

/// Sums over everything below the requested paths.
package struct StatusCounts: Codable, Hashable, Sendable {
    /// Known files, directories and links.
    package var items: UInt64 = 0
    /// Bytes that contents take on the local disk.
    package var localBytes: UInt64 = 0
    /// Items with changes that are not on the remote, failed ones and deletions included. Remote
    /// deletions that wait for a confirmation are in ``held`` instead.
    package var pending: UInt64 = 0
    /// Those of them that were deleted locally.
    package var deletions: UInt64 = 0
    /// Bytes still to be sent for the pending changes.
    package var pendingBytes: UInt64 = 0
    /// Items that are being sent.
    package var uploading: UInt64 = 0
    /// Files that are being fetched.
    package var downloading: UInt64 = 0
    /// Items whose last attempt failed.
    package var failed: UInt64 = 0
    /// Versions that a remote version displaced from their name, until the conflict is resolved.
    package var conflicts: UInt64 = 0
    /// Remote deletions that wait for a confirmation; nil if there are none.
    package var held: HeldCounts?
    /// Items that --exclude keeps on this machine, of the whole mount; nil if there are none.
    package var excluded: UInt64?
    /// As in ``SyncProgress``.
    package var open: UInt64?

    /// The pending items that have something to send: all of them but open files that are sent.
    package var remaining: UInt64 { pending - min(pending, open ?? 0) }
}

extension StatusReport {
    /// Limit for the texts of the items, so that a report of 10,000 stays within memory.
    package static let textBytesMax = 8 << 20

    /// Drops the last items if their texts take more than ``textBytesMax``.
    package mutating func limitTexts() {
        var bytes = 0
        let fitting = items.prefix { item in
            bytes +=
                item.path.utf8.count + (item.error?.description.utf8.count ?? 0)
                + (item.conflictsWith?.utf8.count ?? 0) + (item.target?.utf8.count ?? 0)
            return bytes <= Self.textBytesMax
        }
        guard fitting.count < items.count else { return }
        items = Array(fitting)
        isTruncated = true
    }
}

/// Contents in the state directory that belong to no file.
package struct LostAndFound: Codable, Hashable, Sendable {
    package var files: UInt64
    /// The absolute path of their directory.
    package var path: String

    package init(files: UInt64, path: String) {
        self.files = files
        self.path = path
    }
}

/// Whether the kernel reads local files by itself, without the daemon.
package struct PassthroughStatus: Codable, Hashable, Sendable {
    package var isUsed: Bool
    /// The reason why not; nil if it does.
    package var reason: String?
    /// Whether the reason is something other than the options of the mount.
    @OmittedIfFalse package var isHindered = false

    package init(isUsed: Bool, reason: String? = nil, isHindered: Bool = false) {
        self.isUsed = isUsed
        self.reason = reason
        self.isHindered = isHindered
    }

    private enum CodingKeys: String, CodingKey {
        case reason
        case isUsed = "used"
        case isHindered = "hindered"
    }
}

/// Whether the remote answers.
package struct RemoteReachability: Codable, Hashable, Sendable {
    package var isReachable: Bool
    /// The time of the last change of ``isReachable``.
    package var since: Date
    /// Whether the remote can be reached but refuses the credentials, which pauses the sync.
    @OmittedIfFalse package var refusesCredentials = false
    /// The last failure; nil while the remote is reachable.
    package var message: String?

    package init(
        isReachable: Bool, since: Date, refusesCredentials: Bool = false, message: String? = nil
    ) {
        self.isReachable = isReachable
        self.since = since
        self.refusesCredentials = refusesCredentials
        self.message = message
    }

    private enum CodingKeys: String, CodingKey {
        case since, refusesCredentials, message
        case isReachable = "reachable"
    }
}
