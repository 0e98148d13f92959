/// The progress of a confirmation of bulk deletions.
package struct ConfirmedDeletions: Hashable, Sendable {
    /// The items deleted on the remote that are removed here.
    package var here: HeldDeletions
    /// The number of their deletions, each directory counted as one, that are released so far.
    package var released = 0
    /// The number of items deleted here that are deleted on the remote.
    package var onRemote = 0
}
