/// The pinned files of a mount, as far as they are known.
package struct PinStatus: Hashable, Sendable {
    /// Why bytes of pinned files are not being fetched.
    package enum Hindrance: Hashable, Sendable {
        /// The files take more space than the cache may.
        case excess
        /// The cache is full of changes that are not uploaded yet, or of files in use; or the disk is full.
        case noRoom
        /// The remote is out of reach, or refuses the credentials.
        case outOfReach
    }

    /// A file that could not be fetched, and is tried again.
    package struct Failure: Hashable, Sendable {
        package var path: String
        package var reason: SyncFailure
    }

    /// An attribute that was not set, as not all pinned files would fit the cache.
    package struct Refusal: Hashable, Sendable {
        package var path: String
        package var excess: PinExcess
        /// By the monotonic clock.
        var time: Duration
    }

    /// The files and directories that are pinned themselves.
    package var items: UInt64 = 0
    /// The files at and below them.
    package var sums = PinSums()
    /// Whether all of them have been counted since the last change.
    package var isCounted = false
    package var hindrance: Hindrance?
    /// The first of the files whose last fetch has failed.
    package var failures: [Failure] = []
    /// The last refusal of an attribute, until something is pinned or unpinned.
    package var refusal: Refusal?
}

/// Pinned files that would not fit into the cache.
package struct PinExcess: Hashable, Sendable {
    /// The space that all pinned files would take, as far as they are known.
    package var bytes: UInt64
    /// The space that the cache may take at present.
    package var bytesMax: UInt64
}
