/// The three states of one inode, and what stands in its way: all that a plan depends on.
struct SyncState: Hashable {
    var inode: InodeNumber
    var kind: FileKind
    /// What the user made of it; nil once it is unlinked.
    var local: LocalState?
    /// What both sides last agreed on; nil while the remote has never had it.
    var synced: SyncedRecord?
    /// What was seen on the remote in its place since; nil while that is what was agreed.
    var remote: RemoteObservation?
    /// Whether the remote has deleted it together with so much else that somebody is to confirm it.
    var isHeld = false
    /// A directory above its place on the remote of which that is so.
    var heldAncestor: InodeNumber?
    /// A change that the remote was asked for, with no answer so far.
    var attempt: AttemptRecord?
    /// Another inode that may have got this one's place on the remote; only that one can find out.
    var contender: InodeNumber?
    /// Whether the directory that holds it locally is on the remote, as far as is known.
    var isParentSynced: Bool
    /// Whether that directory lies, on the remote, below this one.
    var isParentBelow = false
    /// Whether another inode's local name is the place that this one has on the remote, which it can
    /// leave: where it has stepped aside, it stays.
    var isPlaceWanted = false
    /// Who holds, on the remote, the name that this inode is to have there.
    var occupant: Occupant?
    /// Who is about to take, by a local name, the place that this unlinked inode has on the remote.
    var successor: InodeNumber?
    /// One of the objects that the remote still has below this directory.
    var remoteChild: InodeNumber?

    /// The version that an operation expects on the remote: of files only.
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
    /// Whether all its bytes are here.
    var isWhole: Bool
}

/// An inode that holds a name on the remote which another one is to have.
struct Occupant: Hashable {
    var inode: InodeNumber
    var kind: FileKind
    var etag: ETag?
    /// Whether it has no name here any more, so that it may be replaced.
    var isUnlinked: Bool
    /// Whether something else was seen in its place, which it has to settle.
    var isOvertaken = false
    /// Whether it waits, by way of others, for the very inode that wants its name, a→b, b→a, and that
    /// has not stepped aside yet.
    var waitsForUs: Bool
}
