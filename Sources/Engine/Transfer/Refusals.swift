import Logging
import Synchronization

/// Handles refused operations: determines and records the state of the remote, and lets the inode
/// be planned again. Nothing is overwritten unseen, nothing is dropped.
struct Refusals: Sendable {
    let store: Store
    let logger: Logger
    let gate: RemoteGate
    let deletions: DeletionHold
    let merger: Merger

    /// Records that the remote has carried out a local deletion.
    func noteDeleted(_ inode: InodeNumber) throws(Blocked) {
        try merger.merge { merge in
            try merge.database.removeSynced(inode)
            if let state = try merge.database.syncState(of: inode),
                Planner.plan(state) == .forget
            {
                try merge.applyLocally(.forget, state)
            }
        }
        deletions.guardian.withLock { $0.noteSent() }
    }

    /// Handles the refusal of an operation whose place is claimed.
    ///
    /// - Throws: The refusal itself, if nothing can be learned from it.
    func answerRefusal(
        _ refusal: ProviderError, _ plan: SyncOperation, _ state: SyncState, _ place: Place
    ) async throws {
        switch (refusal.kind, plan) {
        case (.missing, .delete):
            try await gate.requireRoot(refusal)
            // Another client has deleted it, as intended here.
            try noteDeleted(state.inode)
        case (.notEmpty, .delete):
            // It was removed locally, but has unseen entries on the remote.
            try merger.merge { try $0.restore(state.inode) }
        case (.changed, _), (.missing, _), (.exists, _), (.wrongKind, _):
            logger.info(
                "remote is not as expected",
                metadata: ["inode": "\(state.inode)", "reason": "\(refusal.reason)"])
            try await look(refusal, plan, state, place)
        default:
            throw refusal
        }
    }

    /// Recognises a store that takes the name of a known object for a new one, although its traits
    /// say otherwise: the listing does not show the new one. The object under it is neither the
    /// new object nor a version of it.
    ///
    /// - Throws: `.unsupported` if so.
    private func requireOwnName(_ refusal: ProviderError, _ place: Place) async throws {
        guard let namesake = try namesake(of: place.name, in: place.parent),
            try await !gate.lists(place.destination ?? place.key)
        else { return }
        throw ProviderError(
            .unsupported, attempt: refusal.attempt,
            reason: "the remote takes its name for \"\(namesake)\" beside it",
            remedy: "rename one of the two, or mount the source with names=caseless")
    }

    /// Returns another name in a directory on the remote that a store without upper case would take for
    /// `name`.
    private func namesake(
        of name: FileName, in parent: InodeNumber
    ) throws(Blocked) -> FileName? {
        let key = NameMatching.caseless.key(of: name)
        var last: FileName?
        while true {
            let known = try store.read {
                try $0.syncedChildren(of: parent, after: last, limit: Self.comparedNames)
            }
            let namesake = known.first {
                $0.name != name && NameMatching.caseless.key(of: $0.name) == key
            }
            if let namesake { return namesake.name }
            guard known.count == Self.comparedNames else { return nil }
            last = known.last?.name
        }
    }

    /// Number of names read in one query.
    private static var comparedNames: Int { 1_000 }

    private func look(
        _ refusal: ProviderError, _ plan: SyncOperation, _ state: SyncState, _ place: Place
    ) async throws {
        let source = try await gate.statIfPresent(place.key)
        var destination: RemoteObject?
        if let key = place.destination { destination = try await gate.statIfPresent(key) }
        if refusal.kind == .exists, destination ?? source != nil {
            try await requireOwnName(refusal, place)
        }
        let parentKey = (place.destination ?? place.key).parent ?? .root
        let parent = try await gate.statIfPresent(parentKey)
        if source == nil || parent == nil { try await gate.requireRoot(refusal) }
        let (isLearned, hasNoName, isWriting) = try merger.merge(planning: state.inode) { merge in
            if parent?.kind != .directory, parentKey != .root {
                try merge.observeGone([place.parent])
            } else {
                try merge.note(source, destination, plan, state, place)
            }
            let isLearned = try merge.database.syncState(of: state.inode) != state
            let hasNoName = try merge.context.isOutOfNames(state.inode, in: merge.database)
            let isWriting = try merge.database.inode(state.inode)?.isWriting == true
            return (isLearned, hasNoName, isWriting)
        }
        guard isLearned else {
            if hasNoName, destination != nil { throw ConflictResolver.outOfNames(refusal.attempt) }
            if isWriting, destination != nil {
                throw ProviderError(
                    .busy, attempt: refusal.attempt,
                    reason:
                        "the remote has another file of this name, and this one is being written",
                    cause: refusal)
            }
            // The same plan would be refused again at once.
            throw ProviderError(
                .busy, attempt: refusal.attempt,
                reason: "refused (\(refusal.reason)) for no visible reason",
                cause: refusal)
        }
    }
}
