import GRDB
import Logging
import Synchronization

extension Engine {
    /// Lists a directory and takes in what has changed on the remote.
    ///
    /// Who asks while it is under way has the same answer.
    ///
    /// - Throws: `ProviderError`, `EngineError`; `CancellationError` for a task that is cancelled,
    ///   which leaves the listing as it is.
    func list(_ directory: InodeNumber) async throws {
        try await listings.request(directory, at: clock.uptime).wait()
    }

    func runLister() async {
        await listings.run { try await self.listAlone($0, $1) }
    }

    /// Lists a directory for what it may have changed; failures are left to whoever needs it.
    func refreshQuietly(_ directory: InodeNumber) async {
        do {
            try await list(directory)
        } catch {
            logger.debug(
                "refresh failed", metadata: ["inode": "\(directory)", "reason": "\(error)"])
        }
    }

    private func listAlone(
        _ directory: InodeNumber, _ flight: ListingQueue.Flight
    ) async throws {
        guard let key = try store.read({ try $0.remoteKey(of: directory) }) else {
            // Not yet on the remote: what we know is all there is.
            return try store.write { database in
                guard var record = try database.inode(directory),
                    try database.remoteKey(of: directory) == nil
                else { return }
                record.isListed = true
                try database.update(record)
            }
        }
        usedDirectories.withLock { $0.noteListing(directory, at: clock.uptime) }
        let watch = activity.watch(key)
        defer { activity.end(watch) }
        var merge = ListingMerge(directory: directory, key: key)
        var course = ListingCourse(
            entriesMax: configuration.listingEntriesMax, at: clock.uptime)
        var page: PageToken?
        repeat {
            let listing: ListingPage
            do throws(ProviderError) {
                listing = try await provider.list(key, page: page)
                noteReachable()
            } catch {
                noteFailure(error)
                #if BUGS
                    if DeliberateBug.deleteAfterFailedListing.isMade, error.kind == .busy {
                        try finish(
                            try store.write { try take([], isLast: true, &merge, watch, $0) }
                                ?? makeChanges())
                    }
                #endif
                let isGone = error.kind == .missing || error.kind == .wrongKind
                if isGone, try isOutdated(directory, askedAt: key, etag: nil) {
                    try settleDoubt(atOrAbove: directory)
                    throw ProviderError(outdated: error)
                }
                if isGone, directory != .root {
                    // Its parent's listing tells what became of it.
                    try await noteMissing(directory)
                }
                throw error
            }
            let newNames = Set(listing.objects.lazy.map(\.name)).subtracting(merge.seen).count
            if newNames > 0 { flight.noteProgress(at: clock.uptime) }
            do {
                try course.take(listing, newNames: newNames)
            } catch {
                logger.warning(
                    "a listing does not end",
                    metadata: ["directory": "\(key)", "reason": "\(error.reason)"])
                throw ProviderError(error.kind, attempt: "list \"\(key)\"", reason: error.reason)
            }
            if let duration = course.takeLength(at: clock.uptime) {
                logger.warning(
                    "a listing is long",
                    metadata: [
                        "directory": "\(key)", "entries": "\(course.entries)",
                        "seconds": "\(duration.components.seconds)",
                    ])
            }
            page = listing.next
            try requireBallast("list \"\(key)\"")
            let changes = try store.write { database in
                try take(listing.objects, isLast: page == nil, &merge, watch, database)
            }
            guard let changes else {
                try settleDoubt(atOrAbove: directory)
                throw ProviderError(
                    .busy, attempt: "list \"\(key)\"", reason: "it is on its way to another name")
            }
            try finish(changes)
        } while page != nil
    }

    /// A directory that the store no longer has: looks at its parent, which tells the rest.
    private func noteMissing(_ directory: InodeNumber) async throws {
        let parent = try store.read { try $0.synced(directory)?.parent }
        if let parent { await refreshQuietly(parent) }
    }

    // MARK: Merging

    /// Takes a page of a listing into the database.
    ///
    /// - Returns: nil where the directory has moved or gone since, and the page says nothing.
    private func take(
        _ objects: [RemoteObject], isLast: Bool, _ merge: inout ListingMerge,
        _ watch: RemoteActivity.Watch, _ database: Database
    ) throws -> RemoteChanges? {
        var changes = makeChanges()
        // Of a directory that may be half-way to another place nothing is known to be gone.
        guard !activity.isMoved(watch), try database.remoteKey(of: merge.directory) == merge.key,
            try database.uncertainInode(atOrAbove: merge.directory) == nil,
            let directory = try database.inode(merge.directory), directory.links > 0
        else { return nil }
        for object in objects {
            merge.seen.insert(object.name)
            #if BUGS
                if DeliberateBug.takeOwnForForeign.isMade {
                    try observe(object, in: merge.directory, &changes, database)
                    continue
                }
            #endif
            if activity.isTouched(merge.key.appending(object.name), watch) { continue }
            // Perhaps it is ours; who asked for it finds out.
            if try database.attemptingInode(object.name, in: merge.directory) != nil { continue }
            try observe(object, in: merge.directory, &changes, database)
        }
        if !directory.isListed {
            // To become known is no change.
            var filled = try database.existingInode(merge.directory)
            filled.modified = directory.modified
            try database.update(filled)
        }
        guard isLast else { return changes }
        let gone = try database.syncedChildren(of: merge.directory).filter { _, name in
            !merge.seen.contains(name) && !activity.isTouched(merge.key.appending(name), watch)
        }.map(\.inode)
        if directory.isListed {
            try observeGone(gone, &changes, database)
        } else {
            if gone.count <= Self.leftoversMax {
                try observeLeftovers(gone, &changes, database)
            }
            var known = try database.existingInode(merge.directory)
            known.isListed = true
            known.modified = directory.modified
            try database.update(known)
        }
        // What was seen under the name of a file that is new here, and is gone again, is none
        // of its versions.
        for (name, inode) in try database.newInodesObserved(in: merge.directory)
        where !merge.seen.contains(name)
            && !activity.isTouched(merge.key.appending(name), watch)
        {
            try database.setRemote(nil, of: inode)
            changes.pending.append(inode)
        }
        return changes
    }

    /// More than so many names that a cut listing left would take too long here: the next listing
    /// sees to them, as deletions.
    private static var leftoversMax: Int { 1_000 }

    /// What listings brought that did not come to their end, and is not in one that did. They were
    /// never all that there is, so that something is missing is no deletion to be careful with,
    /// unless some of it is here.
    private func observeLeftovers(
        _ gone: [InodeNumber], _ changes: inout RemoteChanges, _ database: Database
    ) throws {
        let bare = Set(try gone.filter { try isBare($0, database) })
        for inode in gone where bare.contains(inode) {
            try observe(.gone, of: inode, &changes, database)
        }
        try observeGone(gone.filter { !bare.contains($0) }, &changes, database)
    }

    /// Whether nothing of an inode is here but its name.
    private func isBare(_ inode: InodeNumber, _ database: Database) throws -> Bool {
        guard let record = try database.inode(inode) else { return false }
        return switch record.kind {
        case .file: record.presence == .remote
        case .directory: try !record.isListed && !database.hasDirents(inode)
        case .symlink: true
        }
    }

    /// For a transaction that takes in something of the remote; ``finish(_:)`` follows it.
    func makeChanges() -> RemoteChanges {
        RemoteChanges(removalsLeft: configuration.removalsMax)
    }

    /// What follows a transaction that took in something of the remote.
    ///
    /// - Parameter planned: The inode for whose plan that was done, and which is planned again, or
    ///   waits after a failure, by itself. To be due at once would cut that short, without end.
    func finish(
        _ changes: RemoteChanges, planning planned: InodeNumber? = nil
    ) throws(Halt) {
        for inode in changes.discarded { keepInTrash(inode) }
        reap(changes.unlinked)
        settle(changes.settled)
        enqueue(changes.pending.filter { $0 != planned }, after: .zero)
        announce(changes.cacheChanges)
    }

    /// One object of a listing.
    private func observe(
        _ object: RemoteObject, in directory: InodeNumber, _ changes: inout RemoteChanges,
        _ database: Database
    ) throws {
        if let inode = try database.syncedInode(object.name, in: directory) {
            try observe(.object(object), of: inode, &changes, database)
        } else if let dirent = try database.dirent(object.name, in: directory) {
            // A name that both sides made. Where ours comes from elsewhere on the remote, its move
            // finds out by itself.
            guard try database.synced(dirent.inode) == nil else { return }
            try observe(.object(object), of: dirent.inode, &changes, database)
        } else {
            try install(object, in: directory, &changes, database)
        }
    }

    /// What the remote holds now in the place of an inode. Applied at once where nothing was changed
    /// here; else noted, and planned with the change.
    func observe(
        _ observation: RemoteObservation, of inode: InodeNumber, _ changes: inout RemoteChanges,
        _ database: Database
    ) throws {
        guard let record = try database.inode(inode) else { return }
        let isHeld = try database.isHeld(inode)
        if isHeld, observation == .gone { return }
        if isHeld { changes.pending.append(inode) }
        if case .object(let object) = observation, let synced = try database.synced(inode),
            isAgreed(object, record, synced)
        {
            try keepMark(of: object, inode, synced, database)
            try database.setRemote(nil, of: inode)
            try adoptAttributes(of: object, record, &changes, database)
            try noteWritten(object, record, &changes, database)
            return
        }
        try database.setRemote(observation, of: inode)
        if try database.isPending(inode) || record.isWriting {
            try database.markPending(inode, at: clock.wallTime)
            changes.pending.append(inode)
            return
        }
        guard let state = try syncState(of: inode, database) else { return }
        try applyLocally(Planner.plan(state), state, &changes, database)
    }

    /// Keeps what a mark says more of a version than was known.
    private func keepMark(
        of object: RemoteObject, _ inode: InodeNumber, _ synced: SyncedRecord, _ database: Database
    ) throws {
        guard object.kind == .file, synced.etag != object.etag else { return }
        var synced = synced
        synced.etag = object.etag
        try database.setSynced(synced, of: inode)
    }

    /// Whether what was told of a version is told of it still, see ``Provider/isSame(_:as:)``.
    func isSame(_ former: ETag?, as etag: ETag?) -> Bool {
        guard let former, let etag else { return former == etag }
        return provider.isSame(former, as: etag)
    }

    /// Whether an object is what both sides agreed on.
    private func isAgreed(
        _ object: RemoteObject, _ record: InodeRecord, _ synced: SyncedRecord
    ) -> Bool {
        if !object.isDetailed, object.kind == .file, record.kind == .symlink {
            // The listing does not tell the two apart; the version does.
            return isSame(synced.etag, as: object.etag)
        }
        guard object.kind == record.kind else { return false }
        return switch object.kind {
        case .file: isSame(synced.etag, as: object.etag)
        case .directory: true
        case .symlink: object.target == record.target
        }
    }

    /// A version that is listed with a later time than is known was written again with the same bytes:
    /// what a listing does not tell of it is not known any more. Who looks asks for it.
    private func noteWritten(
        _ object: RemoteObject, _ record: InodeRecord, _ changes: inout RemoteChanges,
        _ database: Database
    ) throws {
        guard record.kind == .file, !object.isDetailed, let written = object.written else { return }
        let former = try database.written(record.id)
        if let former, written <= former { return }
        try database.setWritten(written, of: record.id)
        guard former != nil, try forgetDetails(of: record.id, database) else { return }
        changes.cacheChanges.append(.inode(record.id))
    }

    /// Follows a `chmod` on the remote, where nobody has changed the mode here, what became of
    /// extended attributes there, and the time of a symbolic link, which has no version that tells of it.
    private func adoptAttributes(
        of object: RemoteObject, _ record: InodeRecord, _ changes: inout RemoteChanges,
        _ database: Database
    ) throws {
        guard object.kind == record.kind, let former = try database.synced(record.id) else {
            return
        }
        var (record, synced) = (record, former)
        if record.kind == .symlink {
            // A coarser time may be the one that is known.
            guard provider.traits.hasFineTimes, record.modified == synced.modified else { return }
            (record.modified, synced.modified) = (object.modified, object.modified)
        } else {
            if let mode = object.mode, record.mode == synced.mode {
                (record.mode, synced.mode) = (mode, mode)
            }
            synced.extendedAttributes = try database.adopt(
                object.extendedAttributes, of: record.id, since: former.extendedAttributes)
        }
        guard synced != former else { return }
        record.changed = clock.wallTime
        try database.update(record)
        try database.setSynced(synced, of: record.id)
        changes.cacheChanges.append(.inode(record.id))
    }
}

/// A listing on its way into the database.
private struct ListingMerge {
    var directory: InodeNumber
    var key: ObjectKey
    var seen: Set<FileName> = []
}

/// What a transaction did that others have to hear of once it is committed.
struct RemoteChanges {
    var cacheChanges: [CacheChange] = []
    /// Inodes that lost their name.
    var unlinked: [InodeNumber] = []
    /// Inodes to be planned.
    var pending: [InodeNumber] = []
    /// Inodes that were pending, and of which nothing is left to plan.
    var settled: [InodeNumber] = []
    /// Files that the remote has deleted and whose bytes are to go to the trash.
    var discarded: [InodeNumber] = []
    /// How many inodes more may lose their name in the transaction, so that others need not wait for
    /// long. What is begun goes to its end.
    var removalsLeft: Int
    /// The file that is open for writing, and for whose sake a plan was not carried out.
    var awaited: InodeNumber?
}
