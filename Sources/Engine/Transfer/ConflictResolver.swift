import GRDB

/// Resolves an inode that both sides changed: one version if the contents are identical, else both.
struct ConflictResolver: Sendable {
    let store: Store
    let clock: any Clock
    let gate: RemoteGate
    let activity: RemoteActivity
    let comparison: ContentComparison
    let schedule: DirectoriesInUse
    let merger: Merger

    /// - Returns: The file open for writing that keeps the remote version from its name.
    func resolve(_ state: SyncState, _ object: RemoteObject) async throws -> InodeNumber? {
        if let writer = try store.read({ try $0.writer(inPlaceOf: state) }) { return writer }
        if state.kind == object.kind {
            do {
                if try await isEqual(state, object) {
                    try adopt(object, state)
                    return nil
                }
            } catch let error as ProviderError {
                switch error.kind {
                case .changed, .missing, .wrongKind:
                    try await lookAgain(state, error)
                    return nil
                default: throw error
                }
            }
        }
        if state.synced == nil,
            try store.read({ try merger.context.isOutOfNames(state.inode, in: $0) })
        {
            try await requireFreeName(state)
            return nil
        }
        return try merger.merge(planning: state.inode) { merge in
            let database = merge.database
            guard try database.syncState(of: state.inode) == state,
                let dirent = try database.dirent(of: state.inode)
            else { return nil }
            let (parent, name) =
                state.synced.map { ($0.parent, $0.name) } ?? (dirent.parent, dirent.name)
            if let writer = try database.writer(inPlaceOf: state) { return writer }
            try database.removeSynced(state.inode)
            if dirent.parent == parent, dirent.name == name {
                try merge.displace(dirent)
            }
            var object = object
            object.name = name
            try merge.restore(parent)
            try merge.install(object, in: parent)
            try database.markPending(state.inode, at: clock.wallTime)
            return nil
        }
    }

    /// Continues with the last conflict name tried, once it is free.
    ///
    /// - Throws: ``outOfNames(_:)`` while it is not.
    private func requireFreeName(_ state: SyncState) async throws {
        guard let place = try store.read({ try conflictPlace(of: state.inode, $0) }) else { return }
        let failure = Self.outOfNames("send \"\(place)\"")
        if try await gate.statIfPresent(place) != nil { throw failure }
        try await gate.requireRoot(failure)
        try store.write { database in
            guard try database.syncState(of: state.inode) == state,
                try conflictPlace(of: state.inode, database) == place
            else { return }
            try database.setRemote(nil, of: state.inode)
        }
    }

    static func outOfNames(_ attempt: String) -> ProviderError {
        ProviderError(
            .exists, attempt: attempt,
            reason:
                "the last \(Merge.conflictNamesMax) names are all taken on the remote",
            remedy: "rename it")
    }

    /// Determines the current state of a place whose observed object is gone.
    ///
    /// - Throws: The refusal as a passing error, if nothing can be learned from it.
    private func lookAgain(_ state: SyncState, _ refusal: ProviderError) async throws {
        let passing = ProviderError(
            .busy, attempt: refusal.attempt, reason: refusal.reason, cause: refusal)
        guard let place = try store.read({ try conflictPlace(of: state.inode, $0) }) else { return }
        let claim = RemoteActivity.Claim(inode: state.inode, keys: [place], isSubtree: false)
        guard activity.begin(claim) == nil else { throw passing }
        defer { activity.end(claim) }
        let object = try await gate.statIfPresent(place)
        if object == nil { try await gate.requireRoot(refusal) }
        let isLearned = try merger.merge(planning: state.inode) { merge in
            let database = merge.database
            guard try database.syncState(of: state.inode) == state,
                try conflictPlace(of: state.inode, database) == place
            else { return true }
            if let object {
                try merge.observe(.object(object), of: state.inode)
            } else if state.synced == nil {
                try database.setRemote(nil, of: state.inode)
            } else {
                try merge.observeGone([state.inode])
            }
            return try database.syncState(of: state.inode) != state
        }
        if !isLearned { throw passing }
    }

    /// Returns the remote key of an inode's other version.
    private func conflictPlace(of inode: InodeNumber, _ database: Database) throws -> ObjectKey? {
        if let key = try database.remoteKey(of: inode) { return key }
        guard let dirent = try database.dirent(of: inode) else { return nil }
        return try database.remoteKey(of: dirent.parent)?.appending(dirent.name)
    }

    /// Accepts the remote object as the agreed version, because the contents are identical.
    private func adopt(_ object: RemoteObject, _ state: SyncState) throws {
        try merger.merge { merge in
            let database = merge.database
            guard try database.syncState(of: state.inode) == state, let local = state.local,
                var record = try database.inode(state.inode)
            else { return }
            if record.kind == .directory {
                // The entries that both sides created in it have to be merged too.
                record.isListed = false
                try database.update(record)
                // The kernel may know names as absent that the listing adds.
                merge.changes.cacheChanges += [
                    .name(local.name, local.parent), .inode(state.inode),
                ]
            }
            try database.setSynced(
                SyncedRecord(
                    parent: state.synced?.parent ?? local.parent,
                    name: state.synced?.name ?? local.name, etag: object.etag,
                    size: object.size, mode: object.mode ?? local.mode,
                    modified: object.modified,
                    // A directory's local time has not been sent yet.
                    generation: record.kind == .directory
                        ? state.synced?.generation ?? 0 : local.generation,
                    extendedAttributes: try database.adopt(
                        object.extendedAttributes, of: state.inode,
                        since: state.synced?.extendedAttributes ?? ExtendedAttributes())),
                of: state.inode)
            try merge.context.setRemoteModified(object, of: state.inode, in: database)
            if !object.hasMetadata, try database.forgetMetadata(of: state.inode) {
                merge.changes.cacheChanges.append(.attributes(state.inode))
            }
        }
        if state.kind == .directory { schedule.noteUse(of: state.inode) }
    }

    private func isEqual(_ state: SyncState, _ object: RemoteObject) async throws -> Bool {
        switch state.kind {
        case .directory: return true
        case .symlink:
            return try store.read { try $0.inode(state.inode)?.target } == object.target
        case .file:
            guard let place = try store.read({ try conflictPlace(of: state.inode, $0) }) else {
                return false
            }
            return try await comparison.hasContent(of: state.inode, object, at: place)
        }
    }
}
