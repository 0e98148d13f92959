/// The next step for one inode that brings local and remote states together.
enum SyncOperation: Hashable {
    /// No step: the states agree.
    case none
    /// No step yet: this inode is planned again after the other one.
    case wait(InodeNumber)
    /// No step yet: a program is writing the file.
    case waitForWriter
    /// No step until a user confirms the deletion.
    case waitForConfirmation
    /// Keep the name on the local side: the remote takes it for the name of another inode.
    case keepHere(FileName)
    /// Keep the inode on the local side: a pattern excludes its name.
    case exclude
    /// Take an inode for a new one that no pattern excludes any more.
    case include

    // On the remote.
    /// Find out whether an earlier change took place.
    case verify(IntentRecord)
    case createDirectory
    case createSymlink
    /// Upload the content to the inode's local name, where the remote must hold `base`.
    case upload(base: BaseVersion, replaced: InodeNumber?)
    /// Move the object to the inode's local name.
    case move(replaced: Occupant?)
    /// Move the object to a temporary name: the first step of a rotation.
    case moveToTemporaryName
    case setAttributes
    case delete

    // On the local side only.
    /// Forget an inode that exists on neither side any more.
    case forget
    /// Accept the remote object in the inode's place.
    case acceptRemote(RemoteObject)
    /// Remove the local name, as the remote object was deleted.
    case removeLocal
    /// Create an object again that was deleted on the remote but changed locally.
    case createAnew
    /// Keep both versions, unless their contents are identical.
    case conflict(RemoteObject)

    /// Whether it changes something on the remote.
    var isOnRemote: Bool {
        switch self {
        case .createDirectory, .createSymlink, .upload, .move, .moveToTemporaryName, .setAttributes,
            .delete:
            true
        case .none, .wait, .waitForWriter, .waitForConfirmation, .keepHere, .exclude, .include,
            .verify, .forget, .acceptRemote, .removeLocal, .createAnew, .conflict:
            false
        }
    }
}

/// Decides on the next step for one inode. It uses neither clock, database nor network: equal
/// states have equal plans, so that synchronisation can resume after an interruption at any point.
enum Planner {
    static func plan(_ state: SyncState) -> SyncOperation {
        // The root has no name on either side, but was not removed.
        if state.inode == .root { return .none }
        let plan = planAlone(state)
        // Nothing can be changed below a directory that was deleted on the remote.
        if plan.isOnRemote, let held = state.heldAncestor { return .wait(held) }
        return plan
    }

    private static func planAlone(_ state: SyncState) -> SyncOperation {
        if let intent = state.intent { return .verify(intent) }
        if let claimant = state.claimant { return .wait(claimant) }
        guard let local = state.local else { return planUnlinked(state) }
        if state.synced == nil {
            if state.isExcluded { return .exclude }
            if state.wasExcluded { return .include }
        }
        // The object in its place is that of the namesake.
        if state.synced == nil, let namesake = state.namesake { return .keepHere(namesake) }
        if let remote = state.remote { return planObserved(state, local, remote) }
        guard let synced = state.synced else { return planCreation(state, local) }
        if local.parent != synced.parent || local.name != synced.name {
            return planMove(state, local)
        }
        if isContentEdited(state) { return planUpload(state, local) }
        if !state.changedAttributes.isEmpty { return .setAttributes }
        return .none
    }

    /// Whether the local bytes differ from those that both sides agreed on.
    static func isContentEdited(_ state: SyncState) -> Bool {
        guard state.kind == .file, let local = state.local else { return false }
        return local.isWriting || local.generation != state.synced?.generation
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
        // An editor's atomic save: the new file replaces the old one in one step, so that the
        // remote always has one of them.
        guard occupant.isUnlinked, let etag = occupant.etag else { return .wait(occupant.inode) }
        return .upload(base: .version(etag), replaced: occupant.inode)
    }

    private static func planMove(_ state: SyncState, _ local: LocalState) -> SyncOperation {
        if let namesake = state.namesake { return .keepHere(namesake) }
        // If inodes wait for each other in a circle, one that occupies another's place steps aside.
        // A parent below this inode may wait for the inode that wants this one's place.
        guard state.isParentSynced, !state.isParentBelow else {
            return state.isPlaceWanted ? .moveToTemporaryName : .wait(local.parent)
        }
        // In one step, the store would find the destination taken, or copy the object to itself and
        // delete it.
        if state.isRespelled { return .moveToTemporaryName }
        guard let occupant = state.occupant else { return .move(replaced: nil) }
        // If something else took the unlinked file's place on the remote, that is applied locally
        // first; replacing the old version would be refused again and again.
        if occupant.isUnlinked, !occupant.isOvertaken, !occupant.mayReturn, occupant.kind == .file,
            state.kind == .file
        {
            return .move(replaced: occupant)
        }
        return occupant.waitsForUs ? .moveToTemporaryName : .wait(occupant.inode)
    }

    private static func planUnlinked(_ state: SyncState) -> SyncOperation {
        guard state.synced != nil else { return .forget }
        switch state.remote {
        case .gone: return .forget
        case .object(let object):
            // The local edit wins over the deletion.
            return .acceptRemote(object)
        case nil:
            if let successor = state.successor { return .wait(successor) }
            if let child = state.remoteChild {
                return state.isPlaceWanted ? .moveToTemporaryName : .wait(child)
            }
            // The other inode would lose its object.
            return state.namesake == nil ? .delete : .forget
        }
    }

    private static func planObserved(
        _ state: SyncState, _ local: LocalState, _ remote: RemoteObservation
    ) -> SyncOperation {
        if local.isWriting { return .waitForWriter }
        switch remote {
        case .gone:
            let isKept = keepsWhenGone(state)
            // The unchanged contents of a directory that is kept would still be lost.
            if state.isHeld, !isKept || state.kind == .directory { return .waitForConfirmation }
            return isKept ? .createAnew : .removeLocal
        case .object(let object):
            if isContentEdited(state) || state.synced == nil { return .conflict(object) }
            return .acceptRemote(object)
        }
    }

    /// Whether an inode is kept and created again after its remote deletion: if it was created or
    /// changed locally, or if it was moved or open for writing when its directory was deleted and
    /// its bytes are local.
    static func keepsWhenGone(_ state: SyncState) -> Bool {
        guard let local = state.local else { return false }
        guard let synced = state.synced else { return true }
        if isContentEdited(state) { return true }
        let isMoved = local.parent != synced.parent || local.name != synced.name
        let wasOpen = state.kind == .file && synced.etag == nil
        return (isMoved || wasOpen) && (state.kind != .file || local.isWhole)
    }
}
