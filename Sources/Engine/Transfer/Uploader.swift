import GRDB
import Synchronization

/// The end of one operation on the remote.
enum PerformedOperation: Equatable {
    /// It is done, or found to be out of date; the inode has to be planned again.
    case ended
    /// It is done, and nothing is left to do for the inode, which is no longer pending.
    case settled
    /// The operation of another inode blocks it.
    case blocked(by: InodeNumber)
}

/// Carries out one operation on the remote.
final class Uploader: Sendable {
    let store: Store
    let gate: RemoteGate
    let activity: RemoteActivity
    let content: ContentStore
    let preparation: UploadPreparation
    let progress: TransferProgress
    let schedule: DirectoriesInUse
    let sweeper: UploadSweeper
    let verifier: Verifier
    let refusals: Refusals
    let merger: Merger
    /// As in ``EngineConfiguration/digestedBytesMax``.
    let digestedBytesMax: UInt64

    init(
        store: Store, gate: RemoteGate, activity: RemoteActivity, content: ContentStore,
        preparation: UploadPreparation, progress: TransferProgress, schedule: DirectoriesInUse,
        sweeper: UploadSweeper, verifier: Verifier, refusals: Refusals, merger: Merger,
        digestedBytesMax: UInt64
    ) {
        self.store = store
        self.gate = gate
        self.activity = activity
        self.content = content
        self.preparation = preparation
        self.progress = progress
        self.schedule = schedule
        self.sweeper = sweeper
        self.verifier = verifier
        self.refusals = refusals
        self.merger = merger
        self.digestedBytesMax = digestedBytesMax
    }

    /// Deletes an intent, if the refusal proves that nothing happened.
    func settleIntent(
        _ plan: SyncOperation, _ state: SyncState, failedWith error: ProviderError
    ) throws(Blocked) {
        switch error.kind {
        case .unreachable, .cancelled, .corrupt, .source, .sink:
            verifier.noteLoss(of: state.inode)
        case .busy, .unauthorized, .denied, .full:
            // The second half may have been refused.
            if mayBeHalfDone(plan, state) { return }
            fallthrough
        case .changed, .missing, .exists, .notEmpty, .wrongKind, .unsupported:
            try store.write { database in
                try database.removeIntent(of: state.inode)
                if state.kind == .directory { try database.removeCopies(in: state.inode) }
            }
        }
    }

    /// Whether the store may carry an operation out in several steps.
    private func mayBeHalfDone(_ plan: SyncOperation, _ state: SyncState) -> Bool {
        switch plan {
        case .upload: !gate.traits.storesAttributesAtOnce
        case .move, .moveToTemporaryName:
            state.kind != .directory || !gate.traits.movesDirectoriesAtOnce
        default: false
        }
    }

    /// Whether a refusal may concern a move that has happened: its second step, if another client has replaced or
    /// deleted the original of a copy before the store could, or a request that was repeated, as its answer
    /// was lost.
    private func mayHaveMoved(
        _ plan: SyncOperation, refusedWith kind: ProviderError.Kind
    ) -> Bool {
        switch plan {
        case .move, .moveToTemporaryName: [.changed, .missing, .wrongKind].contains(kind)
        default: false
        }
    }

    /// Whether a refusal may concern a request that was repeated, as its answer was lost: its own result was
    /// in the way.
    private func mayBeRepeated(
        _ plan: SyncOperation, _ state: SyncState, refusedWith kind: ProviderError.Kind
    ) -> Bool {
        guard state.kind == .file, [.changed, .exists, .missing].contains(kind) else {
            return false
        }
        switch plan {
        case .upload, .setAttributes: return true
        default: return false
        }
    }

    /// Carries out one operation on the remote.
    ///
    /// - Parameter commitCount: ``Store/commitCount`` before `state` was read.
    func perform(
        _ plan: SyncOperation, _ state: SyncState, readAt commitCount: UInt64
    ) async throws -> PerformedOperation {
        let (place, above) = try store.readInTurn { database in
            let place = try Place.of(plan, state, database)
            return (place, try place?.uncertainInode(for: state, database))
        }
        guard let target = place else {
            try preparation.noteLostPlace(state)
            return .ended
        }
        // A directory that may have moved is verified first: its old place proves nothing.
        if let above { return .blocked(by: above) }
        // This may take a while, so it precedes the claim: a replacement of the missing bytes by
        // another client must not pass for our own change.
        var unprepared: ProviderError?
        do {
            if try await preparation.fetchMissingMetadata(before: plan, state) { return .ended }
            try await preparation.fetchBytes(before: plan, state)
        } catch {
            unprepared = ProviderError(preparing: error)
        }
        let claim = RemoteActivity.Claim(
            inode: state.inode, keys: target.keys,
            isSubtree: state.kind == .directory && plan != .setAttributes)
        if let holder = activity.begin(claim) { return .blocked(by: holder) }
        defer { activity.end(claim) }
        // Another operation may have ended between the plan and the claim.
        let isCurrent = { [store] (database: Database) in
            try store.commitCount == commitCount
                || database.syncState(of: state.inode) == state
                    && Place.of(plan, state, database) == target
                    && target.uncertainInode(for: state, database) == nil
        }
        if let unprepared {
            guard try store.readInTurn(isCurrent) else { return .ended }
            try await refusals.answerRefusal(unprepared, plan, state, target)
            return .ended
        }
        try preparation.noteFormerName(plan, state)
        if var intent = plan.intent(state, at: target) {
            intent.nonce = try nonce(of: state)
            guard try store.begin(intent, of: state.inode, if: isCurrent) else { return .ended }
        } else {
            guard try store.commitCount == commitCount || store.readInTurn(isCurrent) else {
                return .ended
            }
            // A power cut that undid the commits which allow it would give the file its name back.
            if plan == .delete, state.kind == .file { try store.synchronize() }
        }
        do {
            return try await carryOut(plan, state, target)
        } catch {
            try await answer(ProviderError(preparing: error), plan, state, target)
        }
        return .ended
    }

    /// Handles the failure of an operation that was sent.
    private func answer(
        _ error: ProviderError, _ plan: SyncOperation, _ state: SyncState, _ place: Place
    ) async throws {
        // Nothing became visible; another plan follows.
        if error.cause is UnwantedUpload { return }
        if mayHaveMoved(plan, refusedWith: error.kind),
            try await verifier.hasMoved(state.inode, from: place.key, to: place.destination)
        {
            return
        }
        if mayBeRepeated(plan, state, refusedWith: error.kind),
            try await verifier.hasHappened(state.inode, at: place.key)
        {
            return
        }
        try settleIntent(plan, state, failedWith: error)
        try await refusals.answerRefusal(error, plan, state, place)
    }

    private func carryOut(
        _ plan: SyncOperation, _ state: SyncState, _ place: Place
    ) async throws -> PerformedOperation {
        let inode = state.inode
        switch plan {
        case .upload(let base, let replaced):
            return try await upload(state, to: place, base: base, replaced: replaced)
        case .createDirectory, .createSymlink:
            let attributes = state.attributes
            let object = try await progress.tracking(inode, .create) {
                if plan == .createDirectory {
                    return try await gate.createDirectory(place.key, attributes: attributes)
                }
                return try await gate.createSymlink(
                    place.key, target: try target(of: inode), attributes: attributes)
            }
            let performed = try commit(
                object, of: inode, at: place, sent: attributes,
                generation: plan.generation(after: state))
            if plan == .createDirectory { schedule.requireListing(of: inode) }
            return performed
        case .move(let replaced):
            let base = replaced?.etag.map { BaseVersion.version($0) } ?? .absent
            return try await move(state, place, base: base, replaced: replaced?.inode)
        case .moveToTemporaryName:
            return try await move(state, place, base: .absent, replaced: nil)
        case .setAttributes:
            let attributes = state.attributes
            let object = try await progress.tracking(inode, .change) {
                try await gate.setAttributes(
                    place.key, to: attributes, only: state.changedAttributes,
                    etag: state.baseVersion, nonce: try nonce(of: state))
            }
            return try commit(
                object, of: inode, at: place, sent: attributes,
                generation: plan.generation(after: state))
        case .delete:
            try await progress.tracking(inode, .delete) {
                try await gate.delete(place.key, kind: state.kind, etag: state.baseVersion)
            }
            try refusals.noteDeleted(inode)
            return .ended
        default:
            preconditionFailure("\(plan) is not an operation on the remote")
        }
    }

    private func move(
        _ state: SyncState, _ place: Place, base: BaseVersion, replaced: InodeNumber?
    ) async throws -> PerformedOperation {
        guard let destination = place.destination, let synced = state.synced else { return .ended }
        let object = try await progress.tracking(state.inode, .move) {
            try await gate.move(
                place.key, etag: state.baseVersion, to: destination, base: base,
                continues: false, nonce: try nonce(of: state),
                noteCopies: store.noteCopies(in: state.inode))
        }
        try await requireKind(of: object, at: destination, state, from: place.key)
        return try commit(
            object, of: state.inode, at: place,
            sent: ObjectAttributes(
                modified: synced.modified, mode: synced.mode,
                extendedAttributes: synced.extendedAttributes),
            generation: synced.generation, replaced: replaced)
    }

    /// Returns the nonce of the agreed version of a file.
    private func nonce(of state: SyncState) throws(ProviderError) -> WriteNonce? {
        guard state.kind == .file, let generation = state.synced?.generation else { return nil }
        return try engineWork { () throws(Blocked) in
            try store.writeNonce(of: state.inode, generation: generation)
        }
    }

    /// Moves an object back that another client had put in the place of the one to be moved: only
    /// files have a version that the store compares. If it cannot go back, it stays for the user to
    /// see.
    ///
    /// - Throws: `.changed` if the moved object is of another kind.
    private func requireKind(
        of object: RemoteObject, at place: ObjectKey, _ state: SyncState, from former: ObjectKey
    ) async throws {
        guard object.kind != state.kind else { return }
        _ = try await gate.move(place, etag: object.etag, to: former, base: .absent)
        throw ProviderError(
            .changed, attempt: "move \"\(former)\"",
            reason: "another client has replaced it by a \(object.kind)")
    }

    /// Stores the newly agreed state, in one transaction; in the same one the inode ceases to be
    /// pending, if nothing is left to do.
    ///
    /// - Parameter isUpload: Whether an upload is complete, so that nothing is left to resume.
    func commit(
        _ object: RemoteObject, of inode: InodeNumber, at place: Place,
        sent attributes: ObjectAttributes, generation: Int64, replaced: InodeNumber? = nil,
        isUpload: Bool = false
    ) throws(Blocked) -> PerformedOperation {
        try merger.merge { merge in
            let database = merge.database
            try database.removeIntent(of: inode)
            if isUpload { try database.removeUpload(of: inode) }
            if let replaced {
                try database.removeSynced(replaced)
                merge.changes.unlinked.append(replaced)
                try merge.enqueue([replaced])
            }
            // Removed meanwhile, with a directory that the remote deleted: the next listing
            // finds the object.
            guard let record = try database.inode(inode) else { return .ended }
            let hasMoved =
                try record.kind == .directory
                && database.synced(inode).map { ($0.parent, $0.name) != (place.parent, place.name) }
                    ?? false
            try database.setSynced(
                SyncedRecord(
                    parent: place.parent, name: place.name, etag: object.etag,
                    size: object.size, mode: attributes.mode, modified: attributes.modified,
                    generation: generation,
                    extendedAttributes: attributes.extendedAttributes),
                of: inode)
            if hasMoved { try database.adoptCopies(in: inode) }
            if !gate.traits.listsMetadata {
                try database.setRemoteModified(object.remoteModified, of: inode)
            }
            try database.setFailure(nil, attempts: 0, of: inode)
            if !record.isWriting, record.generation == generation {
                try database.markSent(inode)
            } else if isUpload, let dirent = try database.dirent(of: inode),
                (dirent.parent, dirent.name) == (place.parent, place.name)
            {
                try database.forgetReplaced(by: inode)
            }
            if hasForeignMetadata(object, besides: attributes),
                try database.forgetMetadata(of: inode)
            {
                merge.changes.cacheChanges.append(.attributes(inode))
            }
            // Waiting inodes are woken later: those at or below its place would still find it claimed.
            guard try database.syncState(of: inode).map(Planner.plan) == SyncOperation.none,
                try !database.hasWaiters(inode)
            else { return .ended }
            try database.removePending(inode)
            try database.record(.uploaded, on: .local, inode, at: merge.clock.wallTime)
            return .settled
        }
    }

    private func target(of inode: InodeNumber) throws(Blocked) -> [UInt8] {
        let target = try store.readInTurn { try $0.existingInode(inode).target }
        guard let target else {
            throw .failure(.invalid, "read inode \(inode) as a symbolic link")
        }
        return target
    }

    /// Whether other clients have set metadata of an object that was just moved or given
    /// attributes, which no listing will show.
    private func hasForeignMetadata(
        _ object: RemoteObject, besides sent: ObjectAttributes
    ) -> Bool {
        guard !gate.traits.listsMetadata, object.hasMetadata, object.kind != .symlink else {
            return false
        }
        return (object.mode ?? sent.mode) != sent.mode
            || (object.extendedAttributes ?? sent.extendedAttributes) != sent.extendedAttributes
            || (object.kind == .file && object.modified != sent.modified)
    }

    /// Sends a snapshot of the content (I3), if the store holds the expected version (I4).
    func upload(
        _ state: SyncState, to place: Place, base: BaseVersion, replaced: InodeNumber?
    ) async throws -> PerformedOperation {
        let inode = state.inode
        let file = try content.retain(inode)
        defer { content.releaseUse(of: inode) }
        // A partly rewritten file is sent whole: the rest comes from the version that it is based
        // on, and from no other.
        let isWhole = file.state.withLock(\.isWhole)
        guard isWhole else {
            throw ProviderError(
                .busy, attempt: "send inode \(inode)", reason: "it is not completely fetched yet")
        }
        let (frozen, record) = try content.freeze(file)
        defer { content.snapshots.end(frozen, of: file) }
        let attributes = ObjectAttributes(
            modified: record.modified, mode: record.mode,
            extendedAttributes: try store.readInTurn { try $0.extendedAttributes(of: inode) })
        // That of a large file takes long, and only matters once its bytes are visible.
        let isProofNeeded = !gate.traits.recognisesWrites
        let isLarge = frozen.size > digestedBytesMax
        let digest = isProofNeeded && !isLarge ? try await digest(of: frozen) : nil
        var laterDigest: (@Sendable () async throws -> ContentDigest)?
        if isProofNeeded, isLarge { laterDigest = { try await self.digest(of: frozen) } }
        let intent = IntentRecord(
            parent: place.parent, name: place.name, size: frozen.size, mode: record.mode,
            extendedAttributes: attributes.extendedAttributes, modified: record.modified,
            generation: record.generation, replaced: replaced, digest: digest,
            nonce: try store.writeNonce(of: inode, generation: record.generation))
        let isAnnounced = gate.traits.announcesWrites
        if !isAnnounced { guard try store.beginUpload(intent, of: inode) else { return .ended } }
        let session = try await sweeper.uploadSession(
            of: inode, generation: record.generation, to: place.key, base: base,
            intent: isAnnounced ? intent : nil, digest: laterDigest)
        progress.sentBytes.withLock {
            $0.begin(inode, generation: record.generation, goesOn: session.token != nil)
        }
        let object = try await progress.tracking(inode, .upload, bytes: frozen.size) {
            () async throws(ProviderError) in
            do throws(ProviderError) {
                return try await gate.write(
                    place.key, from: frozen, attributes: attributes, base: base, session: session)
            } catch {
                throw frozen.isAbandoned && error.isOfMissingBytes ? error.ofChangedContent : error
            }
        }
        progress.sentBytes.withLock { $0.end(inode) }
        let generation = record.generation
        return try commit(
            object, of: inode, at: place, sent: attributes, generation: generation,
            replaced: replaced, isUpload: true)
    }

    private func digest(of frozen: FrozenContent) async throws(ProviderError) -> ContentDigest {
        do {
            return try await content.snapshots.digest(of: frozen)
        } catch {
            throw ProviderError(
                .source, attempt: "digest the content to be sent", reason: "\(error)", cause: error)
        }
    }
}

extension ProviderError {
    /// Whether bytes could not be read, so that the store has never had all of them. After any other failure
    /// it may have them: its answer may be lost.
    fileprivate var isOfMissingBytes: Bool { kind == .source && cause is DiskError }

    /// The error of an upload whose snapshot gave way to a writer: the content is sent anew.
    fileprivate var ofChangedContent: ProviderError {
        ProviderError(.busy, attempt: attempt, reason: "it is being changed locally", cause: self)
    }
}
