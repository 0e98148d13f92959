package import Meters
package import Transport

/// The operations of a mount's daemon that the control API offers.
///
/// Paths are relative to the mount point, with `/` between names but not at either end, and without
/// `.` and `..`; the empty path is the mount point itself. Names that are not UTF-8 are shown with
/// replacement characters and can be addressed only through their directory. Calls may run
/// concurrently; each ends soon after its task is cancelled.
package protocol MountService: Sendable {
    var about: About { get }

    /// - Parameters:
    ///   - paths: At least one; everything below them is included.
    ///   - limit: The maximum number of items.
    /// - Throws: `.missing` if a path does not exist.
    func status(below paths: [String], limit: Int) async throws(ControlError) -> StatusReport

    /// Returns all metrics, each with its samples.
    func metrics() async throws(ControlError) -> [MetricFamily]

    func bandwidth() -> BandwidthReport

    /// Limits the transfers of the mount, now and in later mounts.
    func setBandwidth(_ bandwidth: Bandwidth) async throws(ControlError) -> BandwidthReport

    /// Returns one page of the names in the directory at `path`, or the item itself if it is not one.
    ///
    /// A name that stays is in exactly one page, whatever else changes meanwhile. A directory that was
    /// never listed is listed first.
    ///
    /// - Parameters:
    ///   - position: ``ListPage/next`` of the page before; nil for the first.
    ///   - limit: The maximum number of names.
    /// - Throws: `.missing` if the path does not exist; `.invalid` for a wrong position.
    func list(
        _ path: String, after position: String?, limit: Int
    ) async throws(ControlError) -> ListPage

    /// Returns the programs that have had bytes of files fetched in the last hour.
    func programs() async throws(ControlError) -> ProgramsReport

    /// Yields at once, and then whenever the result of ``status(below:limit:)`` may have changed.
    /// Several changes may be combined; the stream ends when the daemon stops.
    func statusChanges() -> AsyncStream<Void>

    /// Yields the changes at and below `paths` as they are made, each once; first an event with only a
    /// cursor.
    ///
    /// - Parameter cursor: ``ChangeEvent/cursor`` of the change after which to begin; nil for now.
    /// - Throws: ``ControlError``: `.invalid` if it is no cursor, `.missing` if the changes after it are not
    ///   known any more.
    func changes(
        since cursor: String?, below paths: [String]
    ) -> AsyncThrowingStream<ChangeEvent, any Error>

    /// Sends the pending changes below `paths` without settle times, and reports the progress: at
    /// once, then a few times a second at most.
    ///
    /// Later changes may be included. The last value has ``SyncProgress/isDone`` set. Ending the stream
    /// early ends the reports, not the uploads.
    ///
    /// - Parameter timeout: The time after which the last value follows, with ``SyncProgress/isTimedOut`` and
    ///   the items that are not on the remote; nil for none.
    /// - Throws: ``ControlError``: `.missing` if a path does not exist.
    func sync(
        below paths: [String], timeout: Duration?
    ) -> AsyncThrowingStream<SyncProgress, any Error>

    /// Looks at the remote for changes in the known folders at and below `paths`, and reports the
    /// progress. Ending the stream early ends the refresh.
    ///
    /// - Throws: ``ControlError``: `.missing` if a path does not exist, `.failed` if the remote cannot be
    ///   asked.
    func refresh(_ paths: [String]) -> AsyncThrowingStream<RefreshProgress, any Error>

    /// Frees the local bytes of the clean files at and below `paths`.
    ///
    /// - Throws: `.missing` if a path does not exist; then nothing was freed.
    func evict(_ paths: [String]) async throws(ControlError) -> EvictReport

    /// Keeps the files at and below `paths` on this machine: counts them, pins the paths if all pinned files fit the
    /// cache, and reports until everything is here.
    ///
    /// The last value has ``PinProgress/isDone`` set. Ending the stream once the paths are pinned ends the reports,
    /// not the fetches.
    ///
    /// - Parameter waits: Whether to report until everything is here; otherwise until the paths are pinned.
    /// - Throws: ``ControlError``: `.missing` if a path does not exist, `.refused` if the files do not fit.
    func pin(_ paths: [String], waits: Bool) -> AsyncThrowingStream<PinProgress, any Error>

    /// Fetches all bytes of the files at and below `paths`, without keeping them, and reports the progress. Ending
    /// the stream early ends the fetches.
    ///
    /// - Throws: ``ControlError``: `.missing` if a path does not exist, `.refused` if the files do not fit the
    ///   cache.
    func download(_ paths: [String]) -> AsyncThrowingStream<DownloadProgress, any Error>

    /// Unpins `paths` and all that is pinned below them.
    ///
    /// - Throws: `.missing` if a path does not exist, `.invalid` if it stays pinned with a folder above it.
    func unpin(_ paths: [String]) async throws(ControlError) -> UnpinReport

    /// Returns all that is pinned.
    func pins() async throws(ControlError) -> PinReport

    /// Returns one page of the files in the trash that were at or below `path`.
    ///
    /// - Parameters:
    ///   - position: ``TrashPage/next`` of the page before; 0 for the first.
    ///   - limit: The maximum number of files.
    func trash(
        below path: String, after position: Int64, limit: Int
    ) async throws(ControlError) -> TrashPage

    /// Brings back what was deleted on the remote at and below `paths`, as new local files, and reports
    /// the progress. Ending the stream early leaves the rest in the trash.
    ///
    /// - Parameters:
    ///   - folder: The path of the folder that gets what was at the paths; nil for the former one.
    ///   - isAll: Whether to restore everything, and not only what was deleted last.
    /// - Throws: ``ControlError``: `.missing` if nothing of a path is in the trash.
    func restore(
        _ paths: [String], to folder: String?, isAll: Bool
    ) -> AsyncThrowingStream<RestoreProgress, any Error>

    /// Ends a conflict.
    ///
    /// - Parameters:
    ///   - path: Either version.
    ///   - keep: The version that keeps the name: `mine`, `theirs` or `both`.
    /// - Throws: `.invalid` for another word; `.missing` if there is no conflict.
    func resolve(_ path: String, keep: String) async throws(ControlError) -> ResolveReport

    /// Returns an address at which anyone can read the item at `path`, and creates it if necessary.
    ///
    /// - Throws: `.missing` if the path does not exist, `.refused` while the item has changes that are
    ///   not on the remote, `.failed` if the remote has no such links.
    func link(to path: String) async throws(ControlError) -> LinkReport

    /// Releases held bulk deletions of both sides, also if the stream ends early.
    func confirmDeletions() -> AsyncThrowingStream<DeletionsReport, any Error>

    /// Undoes held bulk deletions of both sides: what the remote has deleted is sent to it again, except
    /// files whose bytes are not all here, which stay held; what was deleted here appears again.
    /// If the stream ends early, the rest of what the remote has deleted stays held.
    func rejectDeletions() -> AsyncThrowingStream<RejectionReport, any Error>

    /// Ends the mount: sends the pending changes, with progress as in ``sync(below:timeout:)``, then
    /// unmounts.
    ///
    /// The last value has ``SyncProgress/isDone`` set and follows the unmount. If something failed, or took
    /// longer than `timeout`, it lists that, and the folder stays mounted. Ending the stream before cancels the unmount.
    ///
    /// - Parameter now: Unmount at once and leave the changes queued; the last value counts them.
    /// - Throws: ``ControlError``: `.refused` while files are open below the mount point.
    func unmount(now: Bool, timeout: Duration?) -> AsyncThrowingStream<SyncProgress, any Error>
}
