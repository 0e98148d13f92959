/// What one mount's daemon offers to the outside.
///
/// Paths are relative to the mount point, `/` between names, none in front or at the end, neither
/// `.` nor `..` among them; the empty path is the mount point itself. Names that are no UTF-8 show
/// with replacement characters, and only the directory above them can be asked about. Calls run
/// side by side; each ends soon after its task is cancelled.
package protocol MountService: Sendable {
    var about: About { get }

    /// - Parameter paths: What to report on, with everything below; at least one.
    /// - Throws: `.missing` if a path names nothing.
    func status(below paths: [String]) async throws(ControlError) -> StatusReport

    /// Yields whenever ``status(below:)`` may answer differently than before, at once to begin
    /// with. Several changes may come as one; it ends when the daemon stops.
    func statusChanges() -> AsyncStream<Void>

    /// Sends what is pending below `paths` without waiting for settle times, and tells how far it
    /// is: at once, then a few times a second at most.
    ///
    /// Changes made meanwhile may or may not be waited for. The last value has
    /// ``SyncProgress/isDone`` set. Ending the stream early stops the telling, not the sending.
    ///
    /// - Throws: ``ControlError``: `.missing` if a path names nothing.
    func sync(below paths: [String]) -> AsyncThrowingStream<SyncProgress, any Error>

    /// Frees the local bytes of the clean files at and below `paths`.
    ///
    /// - Throws: `.missing` if a path names nothing; then nothing was freed.
    func evict(_ paths: [String]) async throws(ControlError) -> EvictReport

    /// Ends a conflict.
    ///
    /// - Parameters:
    ///   - path: Either version.
    ///   - keep: Which one keeps the name: `mine`, `theirs`, `both`.
    /// - Throws: `.invalid` for another word; `.missing` where there is no conflict.
    func resolve(_ path: String, keep: String) async throws(ControlError) -> ResolveReport

    /// Makes an address under which everybody may read the item at `path`, or finds it.
    ///
    /// - Throws: `.missing` if the path names nothing, `.refused` while the item has changes that are
    ///   not on the remote, `.failed` where the remote makes no links.
    func link(to path: String) async throws(ControlError) -> LinkReport

    /// Lets deletions in bulk, on either side, go through.
    func confirmDeletions() async throws(ControlError) -> DeletionsReport

    /// Ends the mount: sends what is pending, tells how far it is as ``sync(below:)`` does, then
    /// unmounts.
    ///
    /// The last value has ``SyncProgress/isDone`` set and comes once the folder is unmounted. With
    /// failures left, nothing is unmounted: what failed is in that last value. Ending the stream
    /// before calls the unmount off.
    ///
    /// - Parameter now: Unmount at once and leave the changes queued; the last value says how many.
    /// - Throws: ``ControlError``: `.refused` while files are open below the mount point.
    func unmount(now: Bool) -> AsyncThrowingStream<SyncProgress, any Error>
}
