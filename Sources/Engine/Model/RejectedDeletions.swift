/// The result of rejecting bulk deletions.
package struct RejectedDeletions: Hashable, Sendable {
    /// The number of items deleted on the remote that are sent to it again.
    package var sentAgain = 0
    /// The number of items deleted here that appear here again.
    package var broughtBack = 0
    /// The number of files deleted on the remote that stay held, as not all of their bytes are here.
    package var left: UInt64 = 0
    /// The paths of the first of these, from the mount point on.
    package var leftPaths: [String] = []
}
