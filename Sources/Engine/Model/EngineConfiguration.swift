/// The treatment of requests that need the remote while it is out of reach.
package enum OfflineBehavior: String, CaseIterable, Sendable {
    /// It fails at once.
    case fail
    /// It waits until the remote is back, or the program is interrupted.
    case wait
}

/// The configuration of a mount's engine.
package struct EngineConfiguration: Sendable {
    /// The source of the files, for messages and for recognising a state directory.
    package var source: String
    /// Refuses all local changes.
    package var isReadOnly = false
    /// The names that are neither taken from the remote nor sent.
    package var exclusions = Exclusions()
    /// Limit of the local content, clean and dirty, in the state directory, in bytes.
    package var cacheBytesMax: UInt64 = 20 << 30
    /// The maximum of bytes in the trash; the oldest files are removed first.
    var trashBytesMax: UInt64 { cacheBytesMax / 10 }
    /// The space that local content leaves free on its disk, in bytes. Only changes take of it.
    package var keepFreeBytes: UInt64 = 0
    /// Interval at which directories in use are listed again.
    package var refreshInterval: Duration = .seconds(30)
    /// The same for those of which the remote reports changes: it may miss some, such as changes of the
    /// other machines that share a disk. nil for ten times ``refreshInterval``.
    package var followedRefreshInterval: Duration?
    /// How long the first look into a known directory since the start may wait for its listing; zero not
    /// to wait.
    package var firstLookMax: Duration = .zero
    /// How long such looks may wait altogether right after the start.
    package var firstLooksMax: Duration = .seconds(2)
    /// Delay between the last close of a written file and its upload. Programs that write a file under
    /// a temporary name, or close it between two writes, go on within milliseconds.
    package var settleTime: Duration = .milliseconds(500)
    /// The same for files of at least ``largeBytesMin``: programs that save a document again and again
    /// write smaller ones, and renames follow a close within milliseconds.
    package var settleTimeOfLarge: Duration = .milliseconds(100)
    /// The size from which a file is a large one.
    package var largeBytesMin: UInt64 = 64 << 20
    /// Delay between a local deletion and its sending: so long that a large tree is recognised as one
    /// before many of its files are gone, see ``DeletionGuard``.
    package var deletionDelay: Duration = .seconds(2)
    /// The least interval at which a file that stays open for writing is uploaded.
    package var longWriterInterval: Duration = .seconds(30)
    /// The pause between writes in which a larger file that stays open is uploaded.
    package var longWriterPause: Duration = .seconds(5)
    /// Limit of the size of a file that is uploaded while it is written, if the disk cannot share
    /// bytes.
    package var longWriterBytesMax: UInt64 = 16 << 20
    /// Unit in which bytes are copied for an upload before they change.
    package var snapshotPieceBytes: UInt64 = 1 << 20
    /// Limit of the pieces that are fetched ahead of readers at a time. Each may need a descriptor.
    package var piecesAheadMax = 32
    /// Limit of the bytes that are copied for an upload because a file is truncated; if there are
    /// more, the upload is abandoned, and the new content is uploaded in its place.
    package var snapshotCutBytesMax: UInt64 = 64 << 20
    /// Smaller files are digested before their upload begins, which saves a transaction; larger ones
    /// before the remote shows them.
    package var digestedBytesMax: UInt64 = 1 << 20
    /// Limit of the time for which a kernel request waits for the remote (I8).
    package var requestDeadline: Duration = .seconds(60)
    /// The treatment of requests that need the remote while it is out of reach.
    package var offline = OfflineBehavior.fail
    /// Limit of the time for which a request waits for a listing that keeps making progress.
    package var listingDeadline: Duration = .seconds(600)
    /// Limit of the entries in one directory; a longer listing is taken for a faulty store (I9).
    package var listingEntriesMax = 10_000_000
    /// Limit of the removed inodes that one transaction clears away, which other writers wait for.
    package var removalsMax = 100
    /// The number of files of one eviction from which on their bytes are removed from the disk in the
    /// background, which may take many seconds.
    package var evictedAtOnceMax = 1_024
    /// Limit of the objects of a listing that one transaction merges, and of the deletions that one records,
    /// releases or undoes, which other writers wait for.
    package var mergedEntriesMax = 500
    /// Time allowed at shutdown for requests in progress that cannot be cancelled.
    package var shutdownGrace: Duration = .seconds(10)
    /// The owner of remote objects.
    package var owner: Caller
    /// The permission bits of objects on a remote that does not keep any.
    package var fileMode: UInt16 = 0o644
    package var directoryMode: UInt16 = 0o755
    /// Identifies the current boot: after a reboot, content that was not synced to the disk is not
    /// trusted. Linux: `/proc/sys/kernel/random/boot_id`.
    package var boot = ""
    /// The absolute path of the mount point, without symbolic links: targets below it stay inside
    /// the mount.
    package var mountPoint: [UInt8]?
    /// Whether remote symbolic links that lead out of the mount are shown but not followed.
    package var containsSymlinks = true
    /// The name of this machine in the names of conflict versions.
    package var hostName: String
    /// The path of the control socket, for `user.apus.control`.
    package var controlSocket: String

    package init(source: String, owner: Caller, hostName: String, controlSocket: String) {
        self.source = source
        self.owner = owner
        self.hostName = hostName
        self.controlSocket = controlSocket
    }

    /// Leaves most of the descriptors that the process may have to others than fetches ahead of readers.
    package mutating func limitPiecesAhead(descriptorsMax: UInt64) {
        piecesAheadMax = min(piecesAheadMax, max(8, Int(clamping: descriptorsMax / 6)))
    }

    /// The delay between the last close of a file of a size in bytes and its upload.
    func settleTime(ofBytes size: UInt64) -> Duration {
        size < largeBytesMin ? settleTime : min(settleTime, settleTimeOfLarge)
    }

    func requireWritable(_ attempt: @autoclosure () -> String) throws(Blocked) {
        guard isReadOnly else { return }
        throw .failure(.readOnly, attempt(), remedy: "mount without --read-only")
    }
}
