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

    /// The files and directories that are pinned themselves.
    package var items: UInt64 = 0
    /// The files at and below them.
    package var sums = PinSums()
    /// Whether all of them have been counted since the last change.
    package var isCounted = false
    package var hindrance: Hindrance?
    /// The first of the files whose last fetch has failed.
    package var failures: [Failure] = []
}
