import GRDB
import Logging
import Synchronization

extension Engine {
    /// Carries out one operation on the remote.
    ///
    /// - Returns: nil where it is done or found to be out of date; else the inode whose operation is
    ///   in its way.
    func perform(_ plan: SyncOperation, _ state: SyncState) async throws -> InodeNumber? {
        guard let target = try store.read({ try place(of: plan, state, $0) }) else {
            try noteLostPlace(state)
            return nil
        }
        // A directory that may have moved is looked for first: its old place says nothing.
        if let above = try store.read({ try uncertainInode(above: target, state, $0) }) {
            return above
        }
        // It may take a while, and is done before the place is claimed: that somebody else has
        // replaced what is missing must not pass for our own doing.
        var unprepared: ProviderError?
        do throws(ProviderError) {
            if try await learnDetails(before: plan, state) { return nil }
            try await fetchBytes(before: plan, state)
        } catch {
            unprepared = error
        }
        let claim = RemoteActivity.Claim(
            inode: state.inode, keys: target.keys,
            isSubtree: state.kind == .directory && plan != .setAttributes)
        if let holder = activity.begin(claim) { return holder }
        defer { activity.end(claim) }
        // Between the plan and the claim somebody else's operation may have ended.
        let isCurrent = { [self] (database: Database) in
            try syncState(of: state.inode, database) == state
                && place(of: plan, state, database) == target
                && uncertainInode(above: target, state, database) == nil
        }
        if let unprepared {
            guard try store.read(isCurrent) else { return nil }
            try await answerRefusal(unprepared, plan, state, target)
            return nil
        }
        try noteFormerName(plan, state)
        if let attempt = attempt(plan, state, target) {
            guard try begin(attempt, of: state.inode, if: isCurrent) else { return nil }
        } else {
            guard try store.read(isCurrent) else { return nil }
        }
        do throws(ProviderError) {
            try await carryOut(plan, state, target)
            noteReachable()
        } catch {
            noteFailure(error)
            try noteAttempt(plan, state, failedWith: error)
            try await answerRefusal(error, plan, state, target)
        }
        return nil
    }

    private func uncertainInode(
        above place: Place, _ state: SyncState, _ database: Database
    ) throws -> InodeNumber? {
        try state.synced.flatMap { try database.uncertainInode(atOrAbove: $0.parent) }
            ?? database.uncertainInode(atOrAbove: place.parent)
    }

    /// What is sent takes the place of all that the remote has of an inode, extended attributes
    /// included, so that those are asked for first where they are not known.
    ///
    /// - Returns: Whether they were, and a new plan is to be made.
    private func learnDetails(
        before plan: SyncOperation, _ state: SyncState
    ) async throws(ProviderError) -> Bool {
        switch plan {
        case .upload, .setAttributes: break
        default: return false
        }
        let isLacking = try engineWork { () throws(Halt) in
            try store.read { database in
                try database.inode(state.inode).map { try lacksDetails($0, database) } ?? false
            }
        }
        guard isLacking else { return false }
        _ = try await lookAtDetails(of: state.inode)
        return true
    }

    /// Fetches what is to be sent with the rest, or is in use here and about to be lost there.
    private func fetchBytes(
        before plan: SyncOperation, _ state: SyncState
    ) async throws(ProviderError) {
        switch plan {
        case .upload(_, let replaced):
            if let replaced { try await keepBytes(ofUnlinked: replaced) }
            #if BUGS
                if DeliberateBug.uploadWithHoles.isMade { return }
            #endif
            guard state.local?.isWhole == false else { return }
            let file = try engineWork { () throws(EngineError) in
                try retainForTransfer(state.inode)
            }
            defer { releaseUse(of: state.inode) }
            try await fetchAll(of: file)
        case .move(let replaced?): try await keepBytes(ofUnlinked: replaced.inode)
        case .delete: try await keepBytes(ofUnlinked: state.inode)
        default: return
        }
    }

    /// A removed directory that steps aside may turn out to hold something unseen, and come back:
    /// then people shall know it by the name that it had.
    private func noteFormerName(_ plan: SyncOperation, _ state: SyncState) throws(Halt) {
        guard plan == .moveAside, state.local == nil, let synced = state.synced else { return }
        try store.write {
            try $0.noteConflict(state.inode, original: synced.name, at: clock.wallTime)
        }
    }

    /// A directory above it, on the remote, is gone, and so is everything below that.
    private func noteLostPlace(_ state: SyncState) throws(Halt) {
        guard state.synced != nil else { return }
        try finish(
            try store.write { database in
                var changes = RemoteChanges()
                if try database.synced(state.inode) != nil,
                    try database.remoteKey(of: state.inode) == nil
                {
                    try observeGone([state.inode], &changes, database)
                }
                return changes
            })
    }

    /// Where on the remote an operation happens.
    struct Place: Equatable {
        /// Where the object is, or is to be created.
        var key: ObjectKey
        /// Where it moves to.
        var destination: ObjectKey?
        /// The directory and name that it has there afterwards.
        var parent: InodeNumber
        var name: FileName

        var keys: [ObjectKey] { [key] + (destination.map { [$0] } ?? []) }
    }

    private func place(
        of plan: SyncOperation, _ state: SyncState, _ database: Database
    ) throws -> Place? {
        let current = try database.remoteKey(of: state.inode)
        switch plan {
        case .delete, .setAttributes:
            guard let synced = state.synced, let current else { return nil }
            return Place(key: current, parent: synced.parent, name: synced.name)
        case .moveAside:
            // The root is below nothing that could be on its way too.
            guard let current else { return nil }
            let name = FileName.aside(state.inode, salt: try database.salt())
            return Place(
                key: current, destination: ObjectKey.root.appending(name), parent: .root,
                name: name)
        case .move:
            guard let local = state.local, let current,
                let parent = try database.remoteKey(of: local.parent)
            else { return nil }
            return Place(
                key: current, destination: parent.appending(local.name), parent: local.parent,
                name: local.name)
        default:
            guard let local = state.local, let parent = try database.remoteKey(of: local.parent)
            else { return nil }
            return Place(
                key: parent.appending(local.name), parent: local.parent, name: local.name)
        }
    }

    /// What is noted of a plan before it is carried out; nil where an upload notes it by itself, as
    /// only that knows what it sends, or where asking twice does no harm.
    private func attempt(
        _ plan: SyncOperation, _ state: SyncState, _ place: Place
    ) -> AttemptRecord? {
        let attributes = state.attributes
        var attempt = AttemptRecord(
            parent: place.parent, name: place.name, size: state.synced?.size ?? 0,
            mode: attributes.mode, extendedAttributes: attributes.extendedAttributes,
            modified: attributes.modified, generation: state.synced?.generation ?? 0,
            replaced: nil)
        switch plan {
        case .createDirectory, .createSymlink, .setAttributes: return attempt
        case .move, .moveAside:
            if let synced = state.synced {
                (attempt.mode, attempt.modified) = (synced.mode, synced.modified)
                attempt.extendedAttributes = synced.extendedAttributes
            }
            if case .move(let replaced) = plan { attempt.replaced = replaced?.inode }
            return attempt
        default: return nil
        }
    }

    private func carryOut(
        _ plan: SyncOperation, _ state: SyncState, _ place: Place
    ) async throws(ProviderError) {
        let inode = state.inode
        switch plan {
        case .upload(let base, let replaced):
            try await upload(state, to: place, base: base, replaced: replaced)
        case .createDirectory, .createSymlink:
            let attributes = state.attributes
            let object = try await tracking(inode, .create) { () async throws(ProviderError) in
                if plan == .createDirectory {
                    return try await provider.createDirectory(place.key, attributes: attributes)
                }
                let target = try engineWork { () throws(Halt) in try readSymlink(inode) }
                return try await provider.createSymlink(
                    place.key, target: target, attributes: attributes)
            }
            try commit(object, of: inode, at: place, sent: attributes, generation: 0)
        case .move(let replaced):
            let base = replaced?.etag.map { BaseVersion.version($0) } ?? .absent
            try await move(state, place, base: base, replaced: replaced?.inode)
        case .moveAside:
            try await move(state, place, base: .absent, replaced: nil)
        case .setAttributes:
            let attributes = state.attributes
            let object = try await tracking(inode, .change) { () async throws(ProviderError) in
                try await provider.setAttributes(
                    place.key, to: attributes, etag: state.baseVersion)
            }
            try commit(
                object, of: inode, at: place, sent: attributes,
                generation: state.synced?.generation ?? 0)
        case .delete:
            try await tracking(inode, .delete) { () async throws(ProviderError) in
                try await provider.delete(
                    place.key, kind: state.kind, etag: state.baseVersion)
            }
            try engineWork { () throws(Halt) in
                try store.write { try $0.removeSynced(inode) }
            }
        default:
            preconditionFailure("\(plan) is not an operation on the remote")
        }
    }

    private func move(
        _ state: SyncState, _ place: Place, base: BaseVersion, replaced: InodeNumber?
    ) async throws(ProviderError) {
        guard let destination = place.destination, let synced = state.synced else { return }
        let object = try await tracking(state.inode, .move) { () async throws(ProviderError) in
            try await provider.move(
                place.key, etag: state.baseVersion, to: destination, base: base)
        }
        try commit(
            object, of: state.inode, at: place,
            sent: ObjectAttributes(
                modified: synced.modified, mode: synced.mode,
                extendedAttributes: synced.extendedAttributes),
            generation: synced.generation, replaced: replaced)
    }

    // MARK: Uploads

    /// Sends the content of one moment (I3), if what the store holds is what we think (I4).
    private func upload(
        _ state: SyncState, to place: Place, base: BaseVersion, replaced: InodeNumber?
    ) async throws(ProviderError) {
        let inode = state.inode
        let file = try engineWork { () throws(EngineError) in try retainForTransfer(inode) }
        defer { releaseUse(of: inode) }
        // A file of which only a part was rewritten is sent whole: the rest has come from the
        // version that it is based on, and from no other.
        #if BUGS
            let isWhole = DeliberateBug.uploadWithHoles.isMade || file.state.withLock(\.isWhole)
        #else
            let isWhole = file.state.withLock(\.isWhole)
        #endif
        guard isWhole else {
            throw ProviderError(
                .busy, attempt: "send inode \(inode)", reason: "not all of it is here yet")
        }
        let (frozen, record) = try engineWork { () throws(Halt) in try freeze(file) }
        defer { thaw(frozen, of: file) }
        let attributes = ObjectAttributes(
            modified: record.modified, mode: record.mode,
            extendedAttributes: try engineWork { () throws(Halt) in
                try store.read { try $0.extendedAttributes(of: inode) }
            })
        let digest = try provider.traits.tellsOwnVersions ? nil : digest(of: frozen)
        let attempt = AttemptRecord(
            parent: place.parent, name: place.name, size: frozen.size, mode: record.mode,
            extendedAttributes: attributes.extendedAttributes, modified: record.modified,
            generation: record.generation, replaced: replaced, digest: digest)
        let isWanted = try engineWork { () throws(Halt) in
            // It may have been unlinked while the rest of it was fetched.
            try begin(attempt, of: inode) { try $0.dirent(of: inode) != nil }
        }
        guard isWanted else { return }
        #if BUGS
            var base = base
            if DeliberateBug.uploadWithoutCondition.isMade {
                base = (try? await provider.stat(place.key).etag).map { .version($0) } ?? .absent
            }
        #endif
        let session = try await uploadSession(
            of: inode, generation: record.generation, to: place.key, base: base)
        let object = try await tracking(inode, .upload, bytes: frozen.size) {
            () async throws(ProviderError) in
            try await provider.write(
                place.key, from: frozen, attributes: attributes, base: base,
                session: session)
        }
        #if BUGS
            var generation = record.generation
            if DeliberateBug.countLaterWritesAsSent.isMade,
                let now = try? store.read({ try $0.inode(inode) })
            {
                generation = now.generation
            }
        #else
            let generation = record.generation
        #endif
        try commit(
            object, of: inode, at: place, sent: attributes, generation: generation,
            replaced: replaced)
        try engineWork { () throws(Halt) in try store.write { try $0.removeUpload(of: inode) } }
    }

    /// Fetches what is missing of a file before the remote loses it, if somebody still has it open.
    /// POSIX: an open file keeps its bytes after `unlink`.
    private func keepBytes(ofUnlinked inode: InodeNumber) async throws(ProviderError) {
        guard let open = files.existing(inode), !open.state.withLock(\.isWhole) else { return }
        let file = try engineWork { () throws(EngineError) in try retainForTransfer(inode) }
        defer { releaseUse(of: inode) }
        do throws(ProviderError) {
            try await fetchAll(of: file)
        } catch {
            if error.isPassing || error.kind == .cancelled { throw error }
            logger.warning(
                "unlinked file is open and incomplete",
                metadata: ["inode": "\(inode)", "reason": "\(error.reason)"])
        }
    }

    private func fetchAll(of file: OpenFile) async throws(ProviderError) {
        do {
            let size = file.state.withLock(\.size)
            try await fetch(file, 0..<size, pieceBytes: 4 << 20)
        } catch let error as ProviderError {
            throw error
        } catch {
            var (reason, cause) = ("\(error)", error)
            if let known = error as? EngineError {
                reason = known.kind.phrase
                if known.kind == .changedRemotely {
                    // Nothing will bring these bytes, and only people know what the others are worth.
                    cause = EngineError(
                        known.kind, known.attempt,
                        remedy: "save what can still be read of it, then delete it", cause: known)
                }
            }
            throw ProviderError(
                .source, attempt: "fetch the rest of inode \(file.inode)", reason: reason,
                cause: cause)
        }
    }

    /// Takes the content of this moment and gives it its generation.
    private func freeze(
        _ file: OpenFile
    ) throws(Halt) -> (FrozenContent, InodeRecord) {
        try file.withState { state throws(Halt) in
            let record = try storeVersion(file.inode, &state)
            let frozen = FrozenContent(
                state.file, size: state.size,
                clonePath: DiskPath("frozen/\(file.inode)-\(record.generation)"))
            if state.writers > 0 {
                try onDisk("freeze inode \(file.inode)") { () throws(DiskError) in
                    frozen.detach(to: try disk.clone(state.file, to: frozen.clonePath))
                }
            } else {
                state.frozen.append(frozen)
            }
            return (frozen, record)
        }
    }

    private func digest(of frozen: FrozenContent) throws(ProviderError) -> ContentDigest {
        do {
            return try ContentDigest(of: frozen)
        } catch {
            throw ProviderError(
                .source, attempt: "digest what is to be sent", reason: "\(error)", cause: error)
        }
    }

    private func thaw(_ frozen: FrozenContent, of file: OpenFile) {
        file.state.withLock { state in state.frozen.removeAll { $0 === frozen } }
        guard frozen.isDetached else { return }
        do throws(DiskError) {
            try disk.remove(frozen.clonePath)
        } catch {
            // It is removed at the next start.
            logger.warning("frozen content not removed", metadata: ["reason": "\(error.reason)"])
        }
    }

    /// Sends a file that stays open for writing.
    ///
    /// - Returns: Whether it was sent, and has to be planned again.
    func uploadOpenFile(_ state: SyncState, _ file: OpenFile) async throws -> Bool {
        file.state.withLock { $0.longWriterDue = clock.uptime + configuration.longWriterInterval }
        var settled = state
        settled.local?.isWriting = false
        // What was written since the last snapshot has no generation of its own yet.
        if file.state.withLock(\.isChanged) { settled.local?.generation += 1 }
        let plan = Planner.plan(settled)
        guard case .upload = plan else { return false }
        return try await perform(plan, state) == nil
    }

    // MARK: Afterwards

    /// Notes what both sides agree on now, in one transaction.
    private func commit(
        _ object: RemoteObject, of inode: InodeNumber, at place: Place,
        sent attributes: ObjectAttributes, generation: Int64, replaced: InodeNumber? = nil
    ) throws(ProviderError) {
        try engineWork { () throws(Halt) in
            try store.write { database in
                try database.removeAttempt(of: inode)
                if let replaced { try database.removeSynced(replaced) }
                // Gone meanwhile, with a directory that the remote deleted: what we have put there
                // is found by the next listing.
                guard try database.inode(inode) != nil else { return }
                try database.setSynced(
                    SyncedRecord(
                        parent: place.parent, name: place.name, etag: object.etag,
                        size: object.size, mode: attributes.mode, modified: attributes.modified,
                        generation: generation,
                        extendedAttributes: attributes.extendedAttributes),
                    of: inode)
                try database.setFailure(nil, attempts: 0, of: inode)
                if let record = try database.inode(inode), !record.isWriting,
                    record.generation == generation
                {
                    try database.markSent(inode)
                }
            }
            if let replaced {
                reapOrLog(replaced)
                enqueue(replaced, after: .zero)
            }
        }
    }

    /// Runs local work amid an operation on the remote. Its failure says nothing about the remote,
    /// so it travels as the operation's source.
    func engineWork<Value, Failure: Error>(
        _ work: () throws(Failure) -> Value
    ) throws(ProviderError) -> Value {
        do throws(Failure) {
            return try work()
        } catch {
            throw ProviderError(
                .source, attempt: "prepare a change for the remote", reason: "\(error)",
                cause: error)
        }
    }

    private func tracking<Value>(
        _ inode: InodeNumber, _ kind: Transfer.Kind, bytes: UInt64 = 0,
        _ work: () async throws(ProviderError) -> Value
    ) async throws(ProviderError) -> Value {
        transfers.withLock {
            $0[inode] = Transfer(kind: kind, bytesTotal: bytes, bytesSent: 0)
        }
        changeBell.ring()
        defer {
            transfers.withLock { _ = $0.removeValue(forKey: inode) }
            changeBell.ring()
        }
        return try await work()
    }

    func noteProgress(_ sent: UInt64, of inode: InodeNumber) {
        let more = transfers.withLock { transfers -> UInt64 in
            guard let before = transfers[inode]?.bytesSent, sent > before else { return 0 }
            transfers[inode]?.bytesSent = sent
            return sent - before
        }
        sentBytes.withLock { $0 += more }
        changeBell.ring()
    }
}

extension SyncState {
    /// What is sent along with the object.
    fileprivate var attributes: ObjectAttributes {
        ObjectAttributes(
            modified: local?.modified ?? Timestamp(nanoseconds: 0), mode: local?.mode ?? 0,
            extendedAttributes: local?.extendedAttributes ?? ExtendedAttributes())
    }
}
