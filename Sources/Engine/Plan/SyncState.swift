/// The three states of one inode, and the obstacles in its way: everything that a plan depends on.
struct SyncState: Hashable {
    var inode: InodeNumber
    var kind: FileKind
    /// The local state; nil if the inode is unlinked.
    var local: LocalState?
    /// The state last agreed on by both sides; nil if it was never on the remote.
    var synced: SyncedRecord?
    /// The state observed on the remote since; nil if it is still the agreed one.
    var remote: RemoteObservation?
    /// Whether its remote deletion, one of very many, needs a user's confirmation.
    var isHeld = false
    /// A directory above its place on the remote whose deletion is held.
    var heldAncestor: InodeNumber?
    /// A change sent to the remote whose outcome is unknown.
    var intent: IntentRecord?
    /// Another inode that may have taken this one's place on the remote; only that inode can find
    /// out.
    var claimant: InodeNumber?
    /// Whether its local parent directory is known to be on the remote.
    var isParentSynced: Bool
    /// Whether that directory is below this inode on the remote.
    var isParentBelow = false
    /// Whether another inode's local name is the place of this one on the remote; false if it has
    /// stepped aside already.
    var isPlaceWanted = false
    /// The inode that holds, on the remote, the place of this one's local name.
    var occupant: Occupant?
    /// The inode whose local name is the place of this unlinked inode on the remote.
    var successor: InodeNumber?
    /// An object that the remote still has below this directory.
    var remoteChild: InodeNumber?
    /// The name of another inode that the remote takes for the name of this one: for an inode with a
    /// local name, of one that gets it first; for an unlinked one, of one that may be the same
    /// object.
    var namesake: FileName?
    /// Whether a pattern keeps an inode here that was never on the remote.
    var isExcluded = false
    /// Whether one did when it was planned last.
    var wasExcluded = false
    /// Whether its local name is the one that it has on the remote, spelled in another way.
    var isRespelled = false

    /// The version that an operation expects on the remote; only for files.
    var baseVersion: ETag? { kind == .file ? synced?.etag : nil }
}

struct LocalState: Hashable {
    var parent: InodeNumber
    var name: FileName
    var mode: UInt16
    var extendedAttributes: ExtendedAttributes
    var modified: Timestamp
    var generation: Int64
    var isWriting: Bool
    /// Whether all its bytes are local.
    var isWhole: Bool
}

/// An inode that holds a remote name which another one is to get.
struct Occupant: Hashable {
    var inode: InodeNumber
    var kind: FileKind
    var etag: ETag?
    /// Whether it has no local name any more, so that it may be replaced.
    var isUnlinked = false
    /// Whether another object was observed in its place, which it has to resolve first.
    var isOvertaken = false
    /// Whether it gets its name back if a power cut takes the changes of the file that has the name now,
    /// so that the remote must not lose it to the version before these changes.
    var mayReturn = false
    /// Whether it waits, possibly through others, for the inode that wants its name (a→b, b→a) and
    /// has not stepped aside yet.
    var waitsForUs = false
}
