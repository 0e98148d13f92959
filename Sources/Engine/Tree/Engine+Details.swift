import GRDB
import Logging
import Synchronization

// What a listing does not tell, and only a look at the object itself does: its mode, its exact
// time, its extended attributes, whether it is a symbolic link. A listing never asks for it. Whoever
// looks up a file or a directory waits for it, for a while. Who asks for the extended attributes, or
// changes them, waits for as long as for anything else.

extension Engine {
    /// How long somebody waits who can do with what the listing told.
    static var lookPatience: Duration { .seconds(5) }
    /// For how long nobody waits for an inode again, after that was in vain.
    private static var vainTime: Duration { .seconds(5) }
    /// How often one object is asked for before it is given up.
    private static var lookTries: Int { 3 }

    /// Has a program that looks at a file or directory wait until all is known that the remote knows of it, so
    /// that it sees no mode, time or kind that was only assumed.
    ///
    /// It does without where the remote is out of reach, or has just been waited for in vain.
    func requireDetails(of found: SeenRecord) throws(Halt) {
        let record = found.record
        guard !record.isDetailed else { return }
        // Amid a move of ours a look finds nothing that holds.
        if try store.read({ try $0.uncertainInode(atOrAbove: record.id) }) != nil { return }
        let isAwaited = found.isUnseen && isLookAwaited(record)
        looks.request(record.id, isAwaited: isAwaited)
        guard isAwaited else { return }
        try lookAhead(of: record.id)
        throw .awaits(.look(record.id))
    }

    private func isLookAwaited(_ record: InodeRecord) -> Bool {
        let now = clock.uptime
        return record.kind != .symlink && !provider.traits.listsDetails
            && !looks.isVain(record.id, at: now) && !isOutOfReach(at: now)
    }

    /// A connection that broke a moment ago is no outage.
    func isOutOfReach(at now: Duration) -> Bool {
        reachability.withLock { state in
            !state.isReachable
                && (state.isUnauthorized
                    || state.lostAt.map { now - $0 >= Self.lookPatience } ?? true)
        }
    }

    /// Asks for those as well that a program is likely to look at next.
    private func lookAhead(of inode: InodeNumber) throws(Halt) {
        let expected = try store.read { database -> [InodeNumber] in
            guard let dirent = try database.dirent(of: inode) else { return [] }
            let count = walks.withLock {
                $0.note(dirent.parent, cookie: dirent.cookie, at: clock.uptime)
            }
            guard count > 0 else { return [] }
            return try database.unseen(in: dirent.parent, after: dirent.cookie, among: count)
        }
        for inode in expected { looks.request(inode, isAwaited: false) }
    }

    /// Returns once a look at an inode has ended, well or not, or has taken too long.
    func awaitLook(at inode: InodeNumber) async {
        let flight = looks.request(inode, isAwaited: true)
        let successes = looks.successes
        await flight.landing.wait(
            after: 0, until: clock.uptime + Self.lookPatience, on: clock)
        guard flight.landing.rings > 0 else {
            if Task.isCancelled { return }
            let end = clock.uptime + ImpatientProvider.lookMax
            looks.noteVain(inode, until: end)
            // Where the store has answered nobody, the next one would wait as long.
            if looks.successes == successes { looks.noteVain(nil, until: end) }
            return
        }
        // The process ends, or nobody knows where on the remote it is: to ask again at once would
        // end as soon, and so on.
        let isSeen = try? store.read { database in
            try database.inode(inode).map { try !isUnseen($0, database) } ?? true
        }
        if isSeen != true { giveUpLook(at: inode) }
    }

    /// Has the next request for an inode answered from the listing.
    func giveUpLook(at inode: InodeNumber) {
        looks.noteVain(inode, until: clock.uptime + Self.vainTime)
    }

    func runDetailer() async {
        await looks.run(sideBySide: provider.traits.transfersMax) { [self] in
            isPaused
        } look: { [self] inode in
            var backoff = Backoff(first: .milliseconds(200), longest: .seconds(1))
            for _ in 1..<Self.lookTries {
                if await fetchDetails(of: inode) { return }
                try? await clock.sleep(until: clock.uptime + backoff.next(random))
            }
            if await fetchDetails(of: inode) { return }
            // Whoever looks again later asks again.
            giveUpLook(at: inode)
        }
    }

    /// - Returns: Whether there is nothing more to ask for.
    private func fetchDetails(of inode: InodeNumber) async -> Bool {
        do throws(ProviderError) {
            guard try await lookAtDetails(of: inode) else { return false }
            looks.noteSuccess()
            return true
        } catch {
            logger.debug(
                "details not found", metadata: ["inode": "\(inode)", "reason": "\(error)"])
            if let delay = error.retryAfter {
                // It asks to be left alone, with other files too.
                looks.noteVain(nil, until: clock.uptime + delay)
                return true
            }
            if !error.isPassing { giveUpLook(at: inode) }
            return !error.isPassing
        }
    }

    /// Whether the remote may know more of an inode than is known here, of what is sent as a whole.
    func lacksDetails(_ record: InodeRecord, _ database: Database) throws -> Bool {
        guard provider.traits.extendedAttributes != nil else { return false }
        return try isUnseen(record, database)
    }

    /// What is to be shown of an inode, if nobody has to look at it first. Both are of one moment: a
    /// look that lands in between may have put another inode in its place.
    func seen(_ record: InodeRecord, _ database: Database) throws -> SeenRecord {
        SeenRecord(record: record, isUnseen: try isUnseen(record, database))
    }

    private func isUnseen(_ record: InodeRecord, _ database: Database) throws -> Bool {
        guard !record.isDetailed, let synced = try database.synced(record.id) else { return false }
        // Where the remote has something else by now, what it had is not to be known any more.
        return try database.remote(record.id, name: synced.name) == nil
    }

    /// Asks for what the listing did not tell of an inode.
    ///
    /// - Returns: Whether all is known that can be; false where a change of ours came in between.
    /// - Throws: `.missing` where it is gone; `.busy` where our own change is on its way.
    func lookAtDetails(of inode: InodeNumber) async throws(ProviderError) -> Bool {
        let place = try engineWork { () throws(Halt) in
            try store.read { database -> (ObjectKey, SyncedRecord)? in
                guard let record = try database.inode(inode), !record.isDetailed,
                    let synced = try database.synced(inode),
                    let key = try database.remoteKey(of: inode)
                else { return nil }
                return (key, synced)
            }
        }
        guard let (key, synced) = place else { return true }
        let object = try await detailed(inode, at: key, synced)
        return try engineWork { () throws(Halt) in
            let changes = try store.write { database -> RemoteChanges? in
                // Something else may be there since a directory above it has moved.
                guard try database.synced(inode) == synced,
                    try database.remoteKey(of: inode) == key,
                    try database.uncertainInode(atOrAbove: inode) == nil,
                    !activity.isClaimed(key)
                else { return nil }
                var changes = makeChanges()
                try takeDetails(object, synced, of: inode, &changes, database)
                return changes
            }
            guard let changes else { return false }
            try finish(changes)
            return true
        }
    }

    private func detailed(
        _ inode: InodeNumber, at key: ObjectKey, _ synced: SyncedRecord
    ) async throws(ProviderError) -> RemoteObject {
        do throws(ProviderError) {
            let object = try await provider.stat(key)
            noteReachable()
            return object
        } catch {
            noteFailure(error)
            guard error.kind == .missing || error.kind == .wrongKind else { throw error }
            let isOurs = try engineWork { () throws(Halt) in
                guard try isOutdated(inode, askedAt: key, etag: synced.etag) else { return false }
                try settleDoubt(atOrAbove: inode)
                return true
            }
            if isOurs { throw ProviderError(outdated: error) }
            // What became of it, the directory's listing tells.
            await refreshQuietly(synced.parent)
            throw error
        }
    }

    private func takeDetails(
        _ object: RemoteObject, _ synced: SyncedRecord, of inode: InodeNumber,
        _ changes: inout RemoteChanges, _ database: Database
    ) throws {
        guard var record = try database.inode(inode), !record.isDetailed else { return }
        guard object.kind == record.kind, object.kind != .file || object.etag == synced.etag else {
            return try observe(.object(object), of: inode, &changes, database)
        }
        var synced = synced
        let mode = object.mode ?? synced.mode
        // What was changed here meanwhile stays changed.
        if record.mode == synced.mode { record.mode = mode }
        if record.modified == synced.modified {
            // A directory of which the store tells no time is as old as we know it.
            let isTold = object.kind != .directory || object.modified.nanoseconds != 0
            record.modified = isTold ? object.modified : record.changed
        }
        if (mode, object.modified) != (synced.mode, synced.modified) {
            record.changed = clock.wallTime
        }
        (synced.mode, synced.modified) = (mode, object.modified)
        synced.extendedAttributes = try database.adopt(
            object.extendedAttributes, of: inode, since: synced.extendedAttributes)
        record.isDetailed = true
        try database.update(record)
        try database.setSynced(synced, of: inode)
        if let written = object.written { try database.setWritten(written, of: inode) }
        changes.cacheChanges.append(.inode(inode))
    }
}

/// An inode as it was found, and whether the remote knew more of it at that moment.
struct SeenRecord {
    var record: InodeRecord
    var isUnseen: Bool
}
