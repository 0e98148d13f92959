/// What to do next for one inode, so that local and remote come together.
enum SyncOperation: Hashable {
    /// Nothing: the states agree.
    case none
    /// Nothing now: the other inode goes first, and this one is planned again after it.
    case wait(InodeNumber)
    /// Nothing now: it is being written.
    case waitForWriter
    /// Nothing until somebody confirms that it was meant to be deleted.
    case waitForConfirmation

    // On the remote.
    /// Find out whether an earlier change happened.
    case verify(AttemptRecord)
    case createDirectory
    case createSymlink
    /// Send the content to the inode's local name, which holds this on the remote.
    case upload(base: BaseVersion, replaced: InodeNumber?)
    /// Bring the object to the inode's local name.
    case move(replaced: Occupant?)
    /// Bring the object out of the way, to a name of our own: the first step of a rotation.
    case moveAside
    case setAttributes
    case delete

    // On this side only.
    /// Forget an inode that neither side has any more.
    case forget
    /// Take what the remote holds into the inode's place.
    case takeRemote(RemoteObject)
    /// Remove the local name: the remote has removed the object.
    case removeLocal
    /// The remote no longer has it, but it was changed here: it is created anew.
    case createAnew
    /// Both sides changed it: keep both, unless their contents prove equal.
    case conflict(RemoteObject)
}

extension SyncOperation {
    /// Whether it changes something on the remote.
    var isOnRemote: Bool {
        switch self {
        case .createDirectory, .createSymlink, .upload, .move, .moveAside, .setAttributes, .delete:
            true
        case .none, .wait, .waitForWriter, .waitForConfirmation, .verify, .forget, .takeRemote,
            .removeLocal, .createAnew, .conflict:
            false
        }
    }

    /// Whether it gives an object another key.
    var isMove: Bool {
        switch self {
        case .move, .moveAside: true
        default: false
        }
    }
}

/// Decides what to do next for one inode. It knows no clock, no database and no network: equal
/// states have equal plans, so that it can be interrupted anywhere and asked again.
enum Planner {
    static func plan(_ state: SyncState) -> SyncOperation {
        // The root has no name on either side, which is not to say that it was removed.
        if state.inode == .root { return .none }
        let plan = planAlone(state)
        // Below a directory that the remote has lost nothing can be changed there.
        if plan.isOnRemote, let held = state.heldAncestor { return .wait(held) }
        return plan
    }

    private static func planAlone(_ state: SyncState) -> SyncOperation {
        if let attempt = state.attempt { return .verify(attempt) }
        if let contender = state.contender { return .wait(contender) }
        guard let local = state.local else { return planUnlinked(state) }
        if let remote = state.remote { return planObserved(state, local, remote) }
        guard let synced = state.synced else { return planCreation(state, local) }
        if local.parent != synced.parent || local.name != synced.name {
            return planMove(state, local)
        }
        if isContentEdited(state) { return planUpload(state, local) }
        if isAttributesEdited(state) { return .setAttributes }
        return .none
    }

    /// Whether the bytes here are not those that both sides agreed on.
    static func isContentEdited(_ state: SyncState) -> Bool {
        guard state.kind == .file, let local = state.local else { return false }
        return local.isWriting || local.generation != state.synced?.generation
    }

    private static func isAttributesEdited(_ state: SyncState) -> Bool {
        guard let local = state.local, let synced = state.synced else { return false }
        if local.mode != synced.mode || local.extendedAttributes != synced.extendedAttributes {
            return true
        }
        switch state.kind {
        case .file, .symlink: return local.modified != synced.modified
        // A directory's time changes with its names, on both sides by themselves.
        case .directory: return local.generation != synced.generation
        }
    }

    private static func planCreation(_ state: SyncState, _ local: LocalState) -> SyncOperation {
        guard state.isParentSynced else { return .wait(local.parent) }
        if state.kind == .file { return planUpload(state, local) }
        if let occupant = state.occupant { return .wait(occupant.inode) }
        return state.kind == .directory ? .createDirectory : .createSymlink
    }

    private static func planUpload(_ state: SyncState, _ local: LocalState) -> SyncOperation {
        if local.isWriting { return .waitForWriter }
        if let synced = state.synced, let etag = synced.etag {
            return .upload(base: .version(etag), replaced: nil)
        }
        guard let occupant = state.occupant else { return .upload(base: .absent, replaced: nil) }
        // An editor's atomic save: the new file takes the place of the old one in one step, so
        // that the remote never lacks both.
        guard occupant.isUnlinked, let etag = occupant.etag else { return .wait(occupant.inode) }
        return .upload(base: .version(etag), replaced: occupant.inode)
    }

    private static func planMove(_ state: SyncState, _ local: LocalState) -> SyncOperation {
        // Where those who wait for each other form a circle, one that is in another's place steps
        // aside. A parent below this one may wait for whoever wants this one's place.
        guard state.isParentSynced, !state.isParentBelow else {
            return state.isPlaceWanted ? .moveAside : .wait(local.parent)
        }
        guard let occupant = state.occupant else { return .move(replaced: nil) }
        // What took an unlinked file's place there is to come here first; to move over the file that
        // it was would be refused, again and again.
        if occupant.isUnlinked, !occupant.isOvertaken, occupant.kind == .file, state.kind == .file {
            return .move(replaced: occupant)
        }
        return occupant.waitsForUs ? .moveAside : .wait(occupant.inode)
    }

    private static func planUnlinked(_ state: SyncState) -> SyncOperation {
        guard state.synced != nil else { return .forget }
        switch state.remote {
        case .gone: return .forget
        case .object(let object):
            // The edit wins over the deletion.
            return .takeRemote(object)
        case nil:
            if let successor = state.successor { return .wait(successor) }
            if let child = state.remoteChild {
                return state.isPlaceWanted ? .moveAside : .wait(child)
            }
            return .delete
        }
    }

    private static func planObserved(
        _ state: SyncState, _ local: LocalState, _ remote: RemoteObservation
    ) -> SyncOperation {
        if local.isWriting { return .waitForWriter }
        switch remote {
        case .gone:
            let isKept = keepsWhenGone(state)
            // A directory that stays would still lose what is unchanged in it.
            if state.isHeld, !isKept || state.kind == .directory { return .waitForConfirmation }
            return isKept ? .createAnew : .removeLocal
        case .object(let object):
            if isContentEdited(state) || state.synced == nil { return .conflict(object) }
            return .takeRemote(object)
        }
    }

    /// Whether an inode stays, and is created anew, where the remote has removed it: what was made
    /// or changed here does, and what was moved here or open for writing while its directory went, if
    /// its bytes are here.
    static func keepsWhenGone(_ state: SyncState) -> Bool {
        guard let local = state.local else { return false }
        guard let synced = state.synced else { return true }
        if isContentEdited(state) { return true }
        let isMoved = local.parent != synced.parent || local.name != synced.name
        let wasOpen = state.kind == .file && synced.etag == nil
        return (isMoved || wasOpen) && (state.kind != .file || local.isWhole)
    }
}
