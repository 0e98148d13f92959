/// The progress of a confirmation of bulk deletions.
package struct ConfirmedDeletions: Hashable, Sendable {
    /// The items deleted on the remote that are removed here.
    package var here: HeldDeletions
    /// Those of them whose removal is under way or done.
    package var released = 0
    /// The number of items deleted here that are deleted on the remote.
    package var onRemote = 0
}
