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
            modified: attributes.modified, generation: generation(after: plan, state),
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

    /// What is agreed on once a plan that sends no bytes is carried out.
    private func generation(after plan: SyncOperation, _ state: SyncState) -> Int64 {
        let sendsTime = plan == .createDirectory || plan == .setAttributes
        let local = sendsTime && state.kind == .directory ? state.local : nil
        return local?.generation ?? state.synced?.generation ?? 0
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
            try commit(
                object, of: inode, at: place, sent: attributes,
                generation: generation(after: plan, state))
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
                generation: generation(after: plan, state))
        case .delete:
            try await tracking(inode, .delete) { () async throws(ProviderError) in
                try await provider.delete(
                    place.key, kind: state.kind, etag: state.baseVersion)
            }
            try engineWork { () throws(Halt) in try noteDeleted(inode) }
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

    // MARK: Afterwards

    /// Notes what both sides agree on now, in one transaction.
    func commit(
        _ object: RemoteObject, of inode: InodeNumber, at place: Place,
        sent attributes: ObjectAttributes, generation: Int64, replaced: InodeNumber? = nil
    ) throws(ProviderError) {
        try engineWork { () throws(Halt) in
            let isOutdated = try store.write { database in
                try database.removeAttempt(of: inode)
                if let replaced { try database.removeSynced(replaced) }
                // Gone meanwhile, with a directory that the remote deleted: what we have put there
                // is found by the next listing.
                guard try database.inode(inode) != nil else { return false }
                try database.setSynced(
                    SyncedRecord(
                        parent: place.parent, name: place.name, etag: object.etag,
                        size: object.size, mode: attributes.mode, modified: attributes.modified,
                        generation: generation,
                        extendedAttributes: attributes.extendedAttributes),
                    of: inode)
                if !provider.traits.listsDetails {
                    try database.setWritten(object.written, of: inode)
                }
                try database.setFailure(nil, attempts: 0, of: inode)
                if let record = try database.inode(inode), !record.isWriting,
                    record.generation == generation
                {
                    try database.markSent(inode)
                }
                guard hasOthersDetails(object, besides: attributes) else { return false }
                return try forgetDetails(of: inode, database)
            }
            if isOutdated { announce([.inode(inode)]) }
            if let replaced {
                reap([replaced])
                enqueue(replaced, after: .zero)
            }
        }
    }

    /// The remote has deleted what was deleted here.
    func noteDeleted(_ inode: InodeNumber) throws(Halt) {
        let changes = try store.write { database in
            var changes = makeChanges()
            try database.removeSynced(inode)
            if let state = try syncState(of: inode, database), Planner.plan(state) == .forget {
                try applyLocally(.forget, state, &changes, database)
            }
            return changes
        }
        deletions.withLock { $0.noteSent() }
        try finish(changes)
    }

    /// Whether others have set something of an object that was moved, or of one that has just been
    /// given attributes, and no listing will tell.
    private func hasOthersDetails(
        _ object: RemoteObject, besides sent: ObjectAttributes
    ) -> Bool {
        guard !provider.traits.listsDetails, object.isDetailed, object.kind != .symlink else {
            return false
        }
        return (object.mode ?? sent.mode) != sent.mode
            || (object.extendedAttributes ?? sent.extendedAttributes) != sent.extendedAttributes
            || (object.kind == .file && object.modified != sent.modified)
    }

    /// Has whoever looks at an inode ask the remote what it knows of it.
    ///
    /// - Returns: Whether that was known so far.
    func forgetDetails(of inode: InodeNumber, _ database: Database) throws -> Bool {
        guard var record = try database.inode(inode), record.isDetailed else { return false }
        record.isDetailed = false
        try database.update(record)
        return true
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

    func tracking<Value>(
        _ inode: InodeNumber, _ kind: Transfer.Kind, bytes: UInt64 = 0,
        _ work: () async throws(ProviderError) -> Value
    ) async throws(ProviderError) -> Value {
        transfers.withLock {
            $0[inode] = Transfer(kind: kind, bytesTotal: bytes, bytesSent: 0)
        }
        noteMove(of: inode)
        changeBell.ring()
        defer {
            transfers.withLock { _ = $0.removeValue(forKey: inode) }
            changeBell.ring()
        }
        return try await work()
    }

    func noteProgress(_ sent: UInt64, of inode: InodeNumber) {
        transfers.withLock { transfers in
            guard let before = transfers[inode]?.bytesSent, sent > before else { return }
            transfers[inode]?.bytesSent = sent
        }
        sentBytes.withLock { $0.note(sent, of: inode) }
        noteMove(of: inode)
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
