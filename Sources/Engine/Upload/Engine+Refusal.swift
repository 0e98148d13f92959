import GRDB
import Logging
import Synchronization

// What to do when the remote is not as we thought: find out how it is, note that, and plan again.
// Nothing is overwritten unseen, nothing is dropped.

extension Engine {
    /// Answers the refusal of an operation whose place is claimed.
    ///
    /// - Throws: The refusal itself, where nothing can be learned from it.
    func answerRefusal(
        _ refusal: ProviderError, _ plan: SyncOperation, _ state: SyncState, _ place: Place
    ) async throws {
        switch (refusal.kind, plan) {
        case (.missing, .delete):
            try await requireRoot(refusal)
            // Somebody else deleted it; all the better.
            try noteDeleted(state.inode)
        case (.notEmpty, .delete):
            try restoreDirectory(state.inode)
        case (.changed, _), (.missing, _), (.exists, _), (.wrongKind, _):
            logger.info(
                "remote is not as expected",
                metadata: ["inode": "\(state.inode)", "reason": "\(refusal.reason)"])
            try await look(refusal, plan, state, place)
        default:
            throw refusal
        }
    }

    private func look(
        _ refusal: ProviderError, _ plan: SyncOperation, _ state: SyncState, _ place: Place
    ) async throws {
        let source = try await statIfPresent(place.key)
        var destination: RemoteObject?
        if let key = place.destination { destination = try await statIfPresent(key) }
        let parentKey = (place.destination ?? place.key).parent ?? .root
        let parent = try await statIfPresent(parentKey)
        if source == nil || parent == nil { try await requireRoot(refusal) }
        let (changes, isLearned, hasNoName) = try store.write { database in
            var changes = makeChanges()
            if parent?.kind != .directory, parentKey != .root {
                try observeGone([place.parent], &changes, database)
            } else {
                try note(source, destination, plan, state, place, &changes, database)
            }
            let isLearned = try syncState(of: state.inode, database) != state
            return (changes, isLearned, try isOutOfNames(state.inode, database))
        }
        try finish(changes, planning: state.inode)
        guard isLearned else {
            if hasNoName, destination != nil { throw Self.outOfNames(refusal.attempt) }
            // The same plan would be refused again at once.
            throw ProviderError(
                .busy, attempt: refusal.attempt,
                reason: "it is refused (\(refusal.reason)), and nothing there shows why",
                cause: refusal)
        }
    }

    /// A store that has lost all, say with a disk that is not there, has deleted nothing.
    ///
    /// - Throws: `.unreachable` where not even the root is there.
    private func requireRoot(_ refusal: ProviderError) async throws(ProviderError) {
        guard try await statIfPresent(.root)?.kind == .directory else {
            throw ProviderError(
                .unreachable, attempt: refusal.attempt,
                reason: "the mounted folder is not on the remote", cause: refusal)
        }
    }

    func statIfPresent(_ key: ObjectKey) async throws(ProviderError) -> RemoteObject? {
        do throws(ProviderError) {
            return try await provider.stat(key)
        } catch {
            if error.kind == .missing { return nil }
            throw error
        }
    }

    private func note(
        _ source: RemoteObject?, _ destination: RemoteObject?, _ plan: SyncOperation,
        _ state: SyncState, _ place: Place, _ changes: inout RemoteChanges, _ database: Database
    ) throws {
        switch plan {
        case .upload(_, let replaced?):
            // The old version, unlinked here, is not what we were to replace. From here on it
            // counts as the remote's side of the new file.
            try database.removeSynced(replaced)
            changes.unlinked.append(replaced)
            let dirent = try database.dirent(of: state.inode)
            if let source, dirent?.parent == place.parent, dirent?.name == place.name {
                try observe(.object(source), of: state.inode, &changes, database)
            }
        case .move, .moveAside:
            try noteMove(source, destination, plan, state, place, &changes, database)
        default:
            let observation = source.map { RemoteObservation.object($0) } ?? .gone
            if state.synced == nil {
                // What was seen under a name says something of an inode that never was there only
                // while it has that name.
                let dirent = try database.dirent(of: state.inode)
                guard observation != .gone, dirent?.parent == place.parent,
                    dirent?.name == place.name
                else { return }
            }
            if observation == .gone {
                try observeGone([state.inode], &changes, database)
            } else {
                try observe(observation, of: state.inode, &changes, database)
            }
        }
    }

    private func noteMove(
        _ source: RemoteObject?, _ destination: RemoteObject?, _ plan: SyncOperation,
        _ state: SyncState, _ place: Place, _ changes: inout RemoteChanges, _ database: Database
    ) throws {
        func isSame(_ object: RemoteObject) -> Bool {
            object.kind == state.kind
                && (object.kind != .file || object.etag == state.baseVersion)
        }
        let (isOurs, isStillThere) = (destination.map(isSame), source.map(isSame))
        if isStillThere != true, isOurs == true, let synced = state.synced {
            // It had happened already; only the answer was lost. What is in the old place now is
            // somebody else's.
            var synced = synced
            if case .move(let replaced?) = plan {
                try database.removeSynced(replaced.inode)
                changes.unlinked.append(replaced.inode)
            }
            (synced.parent, synced.name) = (place.parent, place.name)
            try database.setSynced(synced, of: state.inode)
            return
        }
        switch (plan, destination) {
        case (.move(let replaced?), let destination?):
            try observe(.object(destination), of: replaced.inode, &changes, database)
        case (.move(let replaced?), nil):
            try observeGone([replaced.inode], &changes, database)
        case (.move(nil), let destination?):
            // The name is taken by something that we have not seen: that gets the name, ours, if it
            // still wants it, another one.
            guard let dirent = try database.dirent(of: state.inode), dirent.parent == place.parent,
                dirent.name == place.name, try !isOutOfNames(state.inode, database)
            else { break }
            try displace(dirent, &changes, database)
            try install(destination, in: place.parent, &changes, database)
        default:
            // Whatever has the name that we give for a while is for people to see, and to remove.
            break
        }
        guard let source else { return try observeGone([state.inode], &changes, database) }
        try observe(.object(source), of: state.inode, &changes, database)
    }

    /// A directory that was removed here has something on the remote that we have not seen: it
    /// comes back, to show that.
    private func restoreDirectory(_ directory: InodeNumber) throws {
        try finish(
            try store.write { database in
                var changes = makeChanges()
                try revive(directory, &changes, database)
                return changes
            })
    }

    // MARK: Conflicts

    /// Both sides changed something: one version, where their contents prove equal, else both.
    func resolve(_ state: SyncState, _ object: RemoteObject) async throws {
        if state.kind == object.kind {
            do {
                if try await isEqual(state, object) { return try adopt(object, state) }
            } catch let error as ProviderError {
                switch error.kind {
                case .changed, .missing, .wrongKind: return try await lookAgain(state, error)
                default: throw error
                }
            }
        }
        if state.synced == nil, try store.read({ try isOutOfNames(state.inode, $0) }) {
            return try await requireFreeName(state)
        }
        try finish(
            try store.write { database in
                var changes = makeChanges()
                guard try syncState(of: state.inode, database) == state,
                    let dirent = try database.dirent(of: state.inode)
                else { return changes }
                let (parent, name) =
                    state.synced.map { ($0.parent, $0.name) } ?? (dirent.parent, dirent.name)
                try database.removeSynced(state.inode)
                #if BUGS
                    if DeliberateBug.dropOursInConflict.isMade {
                        var record = try database.existingInode(state.inode)
                        record.links = 0
                        try database.update(record)
                        try database.removeDirent(dirent, kind: state.kind, at: clock.wallTime)
                    } else if dirent.parent == parent, dirent.name == name {
                        try displace(dirent, &changes, database)
                    }
                #else
                    if dirent.parent == parent, dirent.name == name {
                        try displace(dirent, &changes, database)
                    }
                #endif
                var object = object
                object.name = name
                try revive(parent, &changes, database)
                try install(object, in: parent, &changes, database)
                try database.markPending(state.inode, at: clock.wallTime)
                return changes
            }, planning: state.inode)
    }

    /// Goes on with the last name that was tried, once it is free.
    ///
    /// - Throws: ``outOfNames(_:)`` while it is not.
    private func requireFreeName(_ state: SyncState) async throws {
        guard let place = try store.read({ try conflictPlace(of: state.inode, $0) }) else { return }
        let failure = Self.outOfNames("send \"\(place)\"")
        if try await statIfPresent(place) != nil { throw failure }
        try await requireRoot(failure)
        try store.write { database in
            guard try syncState(of: state.inode, database) == state,
                try conflictPlace(of: state.inode, database) == place
            else { return }
            try database.setRemote(nil, of: state.inode)
        }
    }

    private static func outOfNames(_ attempt: String) -> ProviderError {
        ProviderError(
            .exists, attempt: attempt,
            reason: "the remote has something else at each of the last \(conflictNamesMax) names",
            remedy: "rename it")
    }

    /// What was seen in an inode's place is not there any more: finds out what is.
    ///
    /// - Throws: The refusal as a passing one, where nothing can be learned from it.
    private func lookAgain(_ state: SyncState, _ refusal: ProviderError) async throws {
        let passing = ProviderError(
            .busy, attempt: refusal.attempt, reason: refusal.reason, cause: refusal)
        guard let place = try store.read({ try conflictPlace(of: state.inode, $0) }) else { return }
        let claim = RemoteActivity.Claim(inode: state.inode, keys: [place], isSubtree: false)
        guard activity.begin(claim) == nil else { throw passing }
        defer { activity.end(claim) }
        let object = try await statIfPresent(place)
        if object == nil { try await requireRoot(refusal) }
        let (changes, isLearned) = try store.write { database in
            var changes = makeChanges()
            guard try syncState(of: state.inode, database) == state,
                try conflictPlace(of: state.inode, database) == place
            else { return (changes, true) }
            if let object {
                try observe(.object(object), of: state.inode, &changes, database)
            } else if state.synced == nil {
                try database.setRemote(nil, of: state.inode)
            } else {
                try observeGone([state.inode], &changes, database)
            }
            return (changes, try syncState(of: state.inode, database) != state)
        }
        try finish(changes, planning: state.inode)
        if !isLearned { throw passing }
    }

    /// Where on the remote the other version of an inode lies.
    private func conflictPlace(of inode: InodeNumber, _ database: Database) throws -> ObjectKey? {
        if let key = try database.remoteKey(of: inode) { return key }
        guard let dirent = try database.dirent(of: inode) else { return nil }
        return try database.remoteKey(of: dirent.parent)?.appending(dirent.name)
    }

    /// Takes the remote's object for ours: it holds the same.
    private func adopt(_ object: RemoteObject, _ state: SyncState) throws {
        try finish(
            try store.write { database in
                var changes = makeChanges()
                guard try syncState(of: state.inode, database) == state, let local = state.local,
                    var record = try database.inode(state.inode)
                else { return changes }
                if record.kind == .directory {
                    // What both made in it has to be brought together too.
                    record.isListed = false
                    try database.update(record)
                }
                try database.setSynced(
                    SyncedRecord(
                        parent: state.synced?.parent ?? local.parent,
                        name: state.synced?.name ?? local.name, etag: object.etag,
                        size: object.size, mode: object.mode ?? local.mode,
                        modified: object.modified,
                        // Nobody has been sent the time that somebody set of a directory.
                        generation: record.kind == .directory
                            ? state.synced?.generation ?? 0 : local.generation,
                        extendedAttributes: try database.adopt(
                            object.extendedAttributes, of: state.inode,
                            since: state.synced?.extendedAttributes ?? ExtendedAttributes())),
                    of: state.inode)
                try setWritten(object, of: state.inode, database)
                if !object.isDetailed, try forgetDetails(of: state.inode, database) {
                    changes.cacheChanges.append(.inode(state.inode))
                }
                return changes
            })
        if state.kind == .directory { noteUse(of: state.inode) }
    }

    private func isEqual(_ state: SyncState, _ object: RemoteObject) async throws -> Bool {
        switch state.kind {
        case .directory: return true
        case .symlink:
            return try store.read { try $0.inode(state.inode)?.target } == object.target
        case .file: return try await isContentEqual(state, object)
        }
    }

    private func isContentEqual(
        _ state: SyncState, _ object: RemoteObject
    ) async throws -> Bool {
        guard let place = try store.read({ try conflictPlace(of: state.inode, $0) }) else {
            return false
        }
        return try await hasContent(of: state.inode, object, at: place)
    }

    /// Reads a version that the remote has beside ours, as far as they are alike.
    ///
    /// - Returns: Whether they are; false where not all of ours is here.
    func hasContent(
        of inode: InodeNumber, _ object: RemoteObject, at place: ObjectKey
    ) async throws -> Bool {
        let file = try retainForTransfer(inode)
        defer { releaseUse(of: inode) }
        let (size, isWhole) = file.state.withLock { ($0.size, $0.isWhole) }
        guard size == object.size, isWhole, let etag = object.etag else { return false }
        var offset: UInt64 = 0
        while offset < size {
            let piece = offset..<min(size, offset + 4 << 20)
            let sink = ComparingSink(file: file)
            try await provider.read(place, range: piece, etag: etag, into: sink)
            if sink.isDifferent { return false }
            offset = piece.upperBound
        }
        return true
    }
}

/// Compares bytes that arrive with those that are here, to the end: only there a reply proves to be
/// damaged, and one that is says nothing.
private final class ComparingSink: ByteSink {
    private let file: OpenFile
    private let state = Mutex(false)

    init(file: OpenFile) { self.file = file }

    var isDifferent: Bool { state.withLock(\.self) }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws {
        let content = file.state.withLock(\.file)
        try withUnsafeTemporaryAllocation(byteCount: bytes.count, alignment: 16) { ours in
            let count = try content.read(into: ours, at: offset)
            if count != bytes.count || !ours.elementsEqual(bytes) { state.withLock { $0 = true } }
        }
    }
}
