import GRDB
import Logging

/// Determines whether a change whose answer was lost took effect, see ``IntentRecord``.
struct Verifier: Sendable {
    let configuration: EngineConfiguration
    let store: Store
    let clock: any Clock
    let logger: Logger
    let gate: RemoteGate
    let activity: RemoteActivity
    let comparison: ContentComparison
    let merger: Merger
    let schedule: DirectoriesInUse
    let doubts: Locked<InFlightWindow>

    /// Records that the answer to a request for an inode was lost.
    func noteLoss(of inode: InodeNumber) {
        doubts.withLock { $0.noteLoss(of: inode, at: clock.uptime) }
    }

    /// Determines whether an intended change took place, and stores the result.
    ///
    /// - Returns: nil if it is known now; otherwise when to check again.
    func verify(_ intent: IntentRecord, _ state: SyncState) async throws -> Agenda.Outcome? {
        let inode = state.inode
        let (former, place, above) = try store.read { database in
            (
                try database.remoteKey(of: inode),
                try database.remoteKey(of: intent.parent)?.appending(intent.name),
                try state.synced.flatMap { try database.uncertainInode(atOrAbove: $0.parent) }
                    ?? database.uncertainInode(atOrAbove: intent.parent)
            )
        }
        if let above { return .blocked(by: above) }
        guard let place else {
            // Its parent directory is gone, and the object with it.
            try store.write { try $0.removeIntent(of: inode) }
            return nil
        }
        let claim = RemoteActivity.Claim(
            inode: inode, keys: [place] + (former.map { [$0] } ?? []),
            isSubtree: state.kind == .directory)
        if let holder = activity.begin(claim) { return .blocked(by: holder) }
        var isOthers = false
        defer {
            activity.end(claim)
            // Listings have omitted it so far, as it could be ours.
            if isOthers { schedule.requireListing(of: intent.parent) }
        }
        let (object, there) = try await objects(at: place, former, kind: state.kind)
        if there != nil, let former, object?.kind == .directory, state.kind == .directory,
            !gate.traits.movesDirectoriesAtOnce
        {
            // An interrupted move, object by object: continue with the rest.
            try await goOn(intent, inode, from: former, to: place)
            return nil
        }
        let happened: Bool
        if let there, let former, try isOurs(there, state) {
            happened = try await removeCopied(there, at: former, to: object, at: place, intent)
        } else {
            happened = try await isResult(object, at: place, of: intent, state)
        }
        if !happened, let rest = doubts.withLock({ $0.rest(of: inode, at: clock.uptime) }) {
            return .again(after: rest)
        }
        if !happened, let object, let former {
            try await moveBack(object, from: place, to: former, intent, state)
        }
        logger.info(
            "lost answer resolved", metadata: ["inode": "\(inode)", "happened": "\(happened)"])
        try conclude(intent, inode, with: happened ? object : nil, seen: object)
        isOthers = !happened && !isKnown(object, state)
        return nil
    }

    /// Recognises a refused move that has happened nevertheless: the original is no longer there.
    ///
    /// An original that is still there stays, even if the same bytes are at the destination: the store may show
    /// one object at both places. A temporary name proves nothing here: the store may have refused because it copied another
    /// version.
    ///
    /// - Returns: Whether it is one; then it is stored as moved.
    func hasMoved(
        _ inode: InodeNumber, from former: ObjectKey, to place: ObjectKey?
    ) async throws -> Bool {
        let names = gate.traits.names
        guard let place, names.key(of: former) != names.key(of: place),
            let state = try store.read({ try $0.syncState(of: inode) }), let intent = state.intent
        else { return false }
        let (object, there) = try await objects(at: place, former, kind: state.kind)
        if let there, try isOurs(there, state) { return false }
        let isMoved = try await isResult(
            object, at: place, of: intent, state, trustsTemporaryNames: false)
        guard isMoved, let object else { return false }
        try conclude(intent, inode, with: object)
        return true
    }

    /// Recognises a refused change of a file that has happened nevertheless.
    ///
    /// - Returns: Whether it has; then the result is stored.
    func hasHappened(_ inode: InodeNumber, at place: ObjectKey) async throws -> Bool {
        guard let state = try store.read({ try $0.syncState(of: inode) }), let intent = state.intent
        else { return false }
        let object = try await gate.statIfPresent(place)
        guard let object,
            try await isResult(
                object, at: place, of: intent, state, trustsTemporaryNames: false,
                comparesContent: false)
        else { return false }
        try conclude(intent, inode, with: object)
        return true
    }

    /// Whether an object is none, or the version that was there before.
    private func isKnown(_ object: RemoteObject?, _ state: SyncState) -> Bool {
        guard let object else { return true }
        return object.kind == .file && gate.isSame(state.synced?.etag, as: object.etag)
    }

    /// Returns the objects at the place that a change was to give an item, and at its former one if that is
    /// another.
    private func objects(
        at place: ObjectKey, _ former: ObjectKey?, kind: FileKind
    ) async throws -> (object: RemoteObject?, there: RemoteObject?) {
        var object = try await gate.statIfPresent(place)
        let names = gate.traits.names
        guard let former, names.key(of: former) != names.key(of: place) else {
            return (object, nil)
        }
        var there = try await gate.statIfPresent(former)
        // Another client may have put something else in the directory's place.
        if kind == .directory, there?.kind != .directory { there = nil }
        // The store may take both names for one, without our knowledge. Of one object, the
        // original would be deleted as superfluous.
        if object != nil, there != nil, former.resembles(place) {
            if try await !gate.lists(former) { there = nil }
            if try await !gate.lists(place) { object = nil }
        }
        return (object, there)
    }

    /// Whether the object at the source of a move is still the one to be moved, and not one that
    /// another client has put there since.
    private func isOurs(_ object: RemoteObject, _ state: SyncState) throws(Blocked) -> Bool {
        guard object.kind == state.kind else { return false }
        switch object.kind {
        case .directory: return true
        case .file: return gate.isSame(state.synced?.etag, as: object.etag)
        case .symlink: return try store.read { try $0.inode(state.inode)?.target } == object.target
        }
    }

    /// Completes an interrupted move by a store that copies first and then deletes.
    ///
    /// The object at the destination may be another one of the same size and time, or even etag:
    /// only identical bytes make those at the source superfluous (I2).
    ///
    /// - Returns: Whether the destination has the object and the source no longer has it.
    private func removeCopied(
        _ there: RemoteObject, at former: ObjectKey, to copy: RemoteObject?, at place: ObjectKey,
        _ intent: IntentRecord
    ) async throws -> Bool {
        guard let copy, copy.kind == there.kind, try !isReplaced(copy, by: intent) else {
            return false
        }
        switch there.kind {
        case .directory: return false
        case .symlink: guard copy.target == there.target else { return false }
        case .file:
            guard there.size == copy.size, let digest = try await digest(of: there, at: former),
                try await self.digest(of: copy, at: place) == digest
            else { return false }
        }
        do throws(ProviderError) {
            try await gate.delete(former, kind: there.kind, etag: there.etag)
            return true
        } catch {
            switch error.kind {
            case .missing, .changed, .wrongKind: return true
            default: throw error
            }
        }
    }

    /// Moves an object of another kind back from a temporary name, where only this mount can have moved it:
    /// another client had put it in the place of the one to be moved. If it cannot go back, it stays for the
    /// user to see.
    private func moveBack(
        _ object: RemoteObject, from place: ObjectKey, to former: ObjectKey,
        _ intent: IntentRecord, _ state: SyncState
    ) async throws {
        let names = gate.traits.names
        guard object.kind != state.kind, names.key(of: former) != names.key(of: place),
            try isTemporary(intent, state.inode)
        else { return }
        do throws(ProviderError) {
            // Its move, this way or that, may have been interrupted.
            _ = try await gate.move(
                place, etag: object.etag, to: former, base: .absent, continues: true)
        } catch {
            switch error.kind {
            case .exists, .missing, .wrongKind, .unsupported, .changed, .denied, .full: break
            default: throw error
            }
        }
    }

    /// Continues an interrupted move of a directory.
    private func goOn(
        _ intent: IntentRecord, _ inode: InodeNumber, from former: ObjectKey, to place: ObjectKey
    ) async throws {
        var moved: RemoteObject?
        do throws(ProviderError) {
            moved = try await gate.move(
                former, etag: nil, to: place, base: .absent, continues: true, nonce: nil,
                noteCopies: store.noteCopies(in: inode))
        } catch {
            switch error.kind {
            case .exists, .missing, .wrongKind, .unsupported, .changed:
                // Another client has intervened; a new plan determines the state.
                break
            default: throw error
            }
        }
        try conclude(intent, inode, with: moved)
    }

    /// Whether an object is the result of an intended change.
    ///
    /// - Parameter comparesContent: Whether it is fetched if nothing else can prove that.
    private func isResult(
        _ object: RemoteObject?, at key: ObjectKey, of intent: IntentRecord, _ state: SyncState,
        trustsTemporaryNames: Bool = true, comparesContent: Bool = true
    ) async throws -> Bool {
        guard let object, object.kind == state.kind else { return false }
        switch object.kind {
        case .directory: return true
        case .symlink:
            return (try? store.read { try $0.inode(state.inode)?.target }) == object.target
        case .file:
            let isMove =
                state.synced.map { ($0.parent, $0.name) != (intent.parent, intent.name) } ?? false
            let isSameVersion = gate.isSame(state.synced?.etag, as: object.etag)
            if isMove, isSameVersion { return true }
            // The previous version is still there: nothing happened.
            if isSameVersion { return false }
            if try isReplaced(object, by: intent) { return false }
            guard object.size == intent.size else { return false }
            if isMove, gate.traits.keepsVersionsInMoves { return false }
            if try isProven(object, of: intent, state, trustsTemporaryNames) { return true }
            if let digest = intent.digest {
                return try await self.digest(of: object, at: key) == digest
            }
            // Only equal bytes are a proof now: another client may have stored others of the same
            // size and time.
            guard comparesContent, isUnchanged(state, since: intent) else { return false }
            return try await isSame(object, at: key, state)
        }
    }

    /// Whether the metadata of an object proves that its bytes are those of an intended change.
    private func isProven(
        _ object: RemoteObject, of intent: IntentRecord, _ state: SyncState,
        _ trustsTemporaryNames: Bool
    ) throws(Blocked) -> Bool {
        if let expected = intent.expected { return gate.isSame(expected, as: object.etag) }
        if intent.nonce == nil, intent.digest == nil {
            // It was stored by a version of Apus that took size and time for a proof.
            return isModified(object, at: intent.modified)
        }
        // Programs that keep unknown metadata when they write other bytes set a new time.
        guard mayBeModified(object, at: intent.modified) else { return false }
        if trustsTemporaryNames, try isTemporary(intent, state.inode) { return true }
        if let nonce = object.nonce, nonce == intent.nonce { return true }
        // The bytes of a moved file may have the nonce of another mount.
        guard let former = state.synced?.etag, let etag = object.etag,
            intent.generation == state.synced?.generation
        else { return false }
        return gate.hasSameBytes(former, as: etag)
    }

    /// Whether a change was to give an inode its temporary name, which no other client uses.
    private func isTemporary(
        _ intent: IntentRecord, _ inode: InodeNumber
    ) throws(Blocked) -> Bool {
        guard intent.parent == .root else { return false }
        return try intent.name == .aside(inode, salt: store.salt())
    }

    /// Whether an object is the one that a change was to replace; it may have the same bytes,
    /// size and time as the new one.
    private func isReplaced(
        _ object: RemoteObject?, by intent: IntentRecord
    ) throws(Blocked) -> Bool {
        guard let etag = object?.etag, let replaced = intent.replaced else { return false }
        return gate.isSame(try store.read { try $0.synced(replaced)?.etag }, as: etag)
    }

    private func isUnchanged(_ state: SyncState, since intent: IntentRecord) -> Bool {
        guard let local = state.local else { return false }
        return local.isWhole && !local.isWriting && local.generation == intent.generation
    }

    private func isSame(
        _ object: RemoteObject, at key: ObjectKey, _ state: SyncState
    ) async throws -> Bool {
        do {
            if try await comparison.hasContent(of: state.inode, object, at: key) { return true }
        } catch let error as ProviderError {
            // Another client is replacing it; a new plan determines the state.
            guard [.changed, .missing, .wrongKind].contains(error.kind) else { throw error }
            return false
        }
        guard try store.read({ try $0.syncState(of: state.inode) }) == state else {
            throw ProviderError(
                .busy, attempt: "compare \"\(key)\" with the local content",
                reason: "it is being changed locally")
        }
        return false
    }

    /// Computes the digest of an object's content at the store.
    ///
    /// - Returns: nil if it is being replaced at this moment; a new plan determines the state.
    private func digest(of object: RemoteObject, at key: ObjectKey) async throws -> ContentDigest? {
        guard let etag = object.etag else { return nil }
        let sink = DigestingSink()
        var offset: UInt64 = 0
        do throws(ProviderError) {
            while offset < object.size {
                let piece = offset..<min(object.size, offset + 4 << 20)
                try await gate.read(key, range: piece, etag: etag, into: sink)
                offset = piece.upperBound
            }
        } catch {
            if error.kind == .changed || error.kind == .missing { return nil }
            throw error
        }
        return sink.digest
    }

    /// Whether an object is certain to have a time.
    private func isModified(_ object: RemoteObject, at time: Timestamp) -> Bool {
        gate.traits.hasFineTimes && mayBeModified(object, at: time)
    }

    /// Whether an object can have a time, as far as the store keeps it.
    private func mayBeModified(_ object: RemoteObject, at time: Timestamp) -> Bool {
        guard let resolution = gate.traits.modifiedResolution else { return true }
        let (difference, overflow) = object.modified.nanoseconds
            .subtractingReportingOverflow(time.nanoseconds)
        return !overflow && .nanoseconds(difference.magnitude) < max(resolution, .microseconds(1))
    }

    private func conclude(
        _ intent: IntentRecord, _ inode: InodeNumber, with object: RemoteObject?,
        seen: RemoteObject? = nil
    ) throws(Blocked) {
        try merger.merge { merge in
            let database = merge.database
            guard try database.intent(of: inode) == intent else { return }
            try database.removeIntent(of: inode)
            guard let object else {
                try database.removeCopies(in: inode)
                return try noteAttributes(of: seen, inode, intent, database)
            }
            // If the attributes of an upload did not arrive, they are still to be sent. A symbolic
            // link exists whether or not its new time arrived.
            // A moved file keeps its time; another time shows another file with the same bytes.
            let isTimeKept =
                intent.digest == nil
                && (object.kind == .directory || object.kind == .file && !gate.traits.hasFineTimes)
            let isTimeThere = isTimeKept || isModified(object, at: intent.modified)
            let extendedAttributes =
                isTimeThere
                ? try agreed(on: object, inode, intent, database)
                : object.extendedAttributes ?? intent.extendedAttributes
            // A directory exists whether or not its new attributes arrived.
            let isSent =
                object.kind != .directory || !gate.traits.hasFineTimes
                || isModified(object, at: intent.modified)
            let former = try database.synced(inode)
            let generation = isSent ? intent.generation : former?.generation ?? 0
            let isModeKept =
                isTimeThere && former?.mode == intent.mode
                && former?.generation == intent.generation
            if let replaced = intent.replaced {
                try database.removeSynced(replaced)
                merge.changes.unlinked.append(replaced)
                try merge.enqueue([replaced])
            }
            try database.setSynced(
                SyncedRecord(
                    parent: intent.parent, name: intent.name, etag: object.etag,
                    size: object.size,
                    mode: isModeKept
                        ? intent.mode : object.mode ?? modeOfOthers(object, intent),
                    modified: isTimeThere ? intent.modified : object.modified,
                    generation: generation,
                    extendedAttributes: extendedAttributes),
                of: inode)
            if object.kind == .directory { try database.adoptCopies(in: inode) }
            try merge.context.setRemoteModified(object, of: inode, in: database)
            // No mode was sent: another one came from another client.
            if isModeKept, let record = try database.inode(inode) {
                try merge.adoptAttributes(of: object, record)
            }
        }
    }

    /// Returns the mode that an object without one is assumed to have.
    private func modeOfOthers(_ object: RemoteObject, _ intent: IntentRecord) -> UInt16 {
        guard gate.traits.keepsMode else { return intent.mode }
        switch object.kind {
        case .file: return configuration.fileMode
        case .directory: return configuration.directoryMode
        case .symlink: return intent.mode
        }
    }

    /// Stores the attributes found on the remote: a new mode or extended attribute leaves a file's
    /// version unchanged, so only its metadata shows whether it arrived.
    private func noteAttributes(
        of object: RemoteObject?, _ inode: InodeNumber, _ intent: IntentRecord,
        _ database: Database
    ) throws {
        guard let object, let former = try database.synced(inode),
            former.parent == intent.parent, former.name == intent.name,
            object.kind == .file, object.etag == former.etag
        else { return }
        var synced = former
        if object.mode == intent.mode { synced.mode = intent.mode }
        if object.extendedAttributes != nil {
            synced.extendedAttributes = try agreed(on: object, inode, intent, database)
        }
        if synced != former { try database.setSynced(synced, of: inode) }
    }

    /// Returns the extended attributes that both sides agree on after an intended change. Values that were
    /// neither requested nor there before came from other clients.
    private func agreed(
        on object: RemoteObject, _ inode: InodeNumber, _ intent: IntentRecord,
        _ database: Database
    ) throws -> ExtendedAttributes {
        let found = object.extendedAttributes ?? intent.extendedAttributes
        var base = intent.extendedAttributes
        if found != base, let former = try database.synced(inode) {
            base = former.extendedAttributes
        } else if found != base, !gate.traits.storesAttributesAtOnce {
            // The object was created, but its attributes did not arrive.
            base = found
        }
        return try database.adopt(found, of: inode, since: base)
    }
}
