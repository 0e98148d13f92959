import GRDB
import Logging

// Changes whose answer is not known. See ``AttemptRecord``.

extension Engine {
    /// Stores what is about to be asked of the remote, if the plan for it still holds.
    ///
    /// - Returns: Whether it does.
    func begin(
        _ attempt: AttemptRecord, of inode: InodeNumber, if isCurrent: (Database) throws -> Bool
    ) throws(Halt) -> Bool {
        try store.write { database in
            guard try isCurrent(database) else { return false }
            try database.setAttempt(attempt, of: inode)
            return true
        }
    }

    /// Forgets an attempt, if the refusal says for sure that nothing happened.
    func noteAttempt(of inode: InodeNumber, failedWith error: ProviderError) throws(Halt) {
        switch error.kind {
        case .unreachable, .cancelled, .corrupt, .source, .sink: return
        case .changed, .missing, .exists, .notEmpty, .wrongKind, .busy, .denied, .full,
            .unsupported:
            try store.write { try $0.removeAttempt(of: inode) }
        }
    }

    /// Finds out whether an attempt succeeded, and notes that.
    ///
    /// - Returns: nil where it is known now; else the inode whose operation is in the way.
    func verify(_ attempt: AttemptRecord, _ state: SyncState) async throws -> InodeNumber? {
        let inode = state.inode
        let (former, place) = try store.read { database in
            (
                try database.remoteKey(of: inode),
                try database.remoteKey(of: attempt.parent)?.appending(attempt.name)
            )
        }
        let above = try store.read { database in
            try state.synced.flatMap { try database.uncertainInode(atOrAbove: $0.parent) }
                ?? database.uncertainInode(atOrAbove: attempt.parent)
        }
        if let above { return above }
        guard let place else {
            // The directory that it would be in is gone, and took it along.
            try store.write { try $0.removeAttempt(of: inode) }
            return nil
        }
        let claim = RemoteActivity.Claim(
            inode: inode, keys: [place] + (former.map { [$0] } ?? []),
            isSubtree: state.kind == .directory)
        if let holder = activity.begin(claim) { return holder }
        defer { activity.end(claim) }
        let object = try await observing { () async throws(ProviderError) in
            try await statIfPresent(place)
        }
        var isStillThere = false
        if let former, former != place {
            isStillThere =
                try await observing { () async throws(ProviderError) in
                    try await statIfPresent(former)
                } != nil
        }
        let happened = !isStillThere && isResult(object, of: attempt, state)
        logger.info(
            "answer was lost", metadata: ["inode": "\(inode)", "happened": "\(happened)"])
        try conclude(attempt, inode, with: happened ? object : nil)
        return nil
    }

    private func observing<Value>(
        _ request: () async throws(ProviderError) -> Value
    ) async throws(ProviderError) -> Value {
        do throws(ProviderError) {
            let value = try await request()
            noteReachable()
            return value
        } catch {
            noteFailure(error)
            throw error
        }
    }

    /// Whether an object is what the attempt would have made.
    private func isResult(
        _ object: RemoteObject?, of attempt: AttemptRecord, _ state: SyncState
    ) -> Bool {
        guard let object, object.kind == state.kind else { return false }
        switch object.kind {
        case .directory: return true
        case .symlink:
            return (try? store.read { try $0.inode(state.inode)?.target }) == object.target
        case .file:
            let isMove =
                state.synced.map { ($0.parent, $0.name) != (attempt.parent, attempt.name) } ?? false
            if isMove, object.etag == state.synced?.etag { return true }
            // The version that was there before says that nothing happened.
            guard object.etag != state.synced?.etag || isMove else { return false }
            return object.size == attempt.size && isModified(object, at: attempt.modified)
        }
    }

    private func isModified(_ object: RemoteObject, at time: Timestamp) -> Bool {
        // A store with coarse times, or none, leaves it to the comparison of contents: two clients
        // may well write as many bytes within a second.
        guard let resolution = provider.traits.modifiedResolution,
            resolution <= .microseconds(1)
        else { return false }
        let (difference, overflow) = object.modified.nanoseconds
            .subtractingReportingOverflow(time.nanoseconds)
        return !overflow && difference.magnitude < 1_000
    }

    private func conclude(
        _ attempt: AttemptRecord, _ inode: InodeNumber, with object: RemoteObject?
    ) throws(Halt) {
        try store.write { database in
            guard try database.attempt(of: inode) == attempt else { return }
            try database.removeAttempt(of: inode)
            guard let object else { return }
            if let replaced = attempt.replaced { try database.removeSynced(replaced) }
            try database.setSynced(
                SyncedRecord(
                    parent: attempt.parent, name: attempt.name, etag: object.etag,
                    size: object.size, mode: object.mode ?? attempt.mode,
                    modified: attempt.modified,
                    generation: attempt.generation),
                of: inode)
        }
        guard object != nil, let replaced = attempt.replaced else { return }
        reapOrLog(replaced)
        enqueue(replaced, after: .zero)
    }

    /// Whether the answer `.missing` or `.changed` to a request for an inode says nothing, as our
    /// own operations have moved or changed it since the request left, or may be about to.
    func isOutdated(
        _ inode: InodeNumber, askedAt key: ObjectKey, etag: ETag?
    ) throws(Halt) -> Bool {
        if activity.isClaimed(key) { return true }
        return try store.read { database in
            try database.remoteKey(of: inode) != key || database.synced(inode)?.etag != etag
                || database.uncertainInode(atOrAbove: inode) != nil
        }
    }
}
