import Logging
import Synchronization

/// Fetches the metadata that listings lack: mode, exact time, extended attributes, and whether an
/// object is a symbolic link.
///
/// Listings never request it. Many are in flight at a time, and the answers that arrive together are
/// merged in one transaction. A lookup waits for it for a limited time; a request for extended
/// attributes waits as long as one for content.
struct MetadataFetcher: Sendable {
    let store: Store
    let clock: any Clock
    let logger: Logger
    let random: @Sendable () -> UInt64
    let gate: RemoteGate
    let activity: RemoteActivity
    let answers: OutdatedAnswers
    let lister: Lister
    let merger: Merger
    let looks: MetadataQueue
    let walks: TreeWalks
    private let merging = MetadataAnswers()

    /// How long a request waits that the listing could answer.
    static var patience: Duration { .seconds(5) }

    /// How long after a failed wait an inode is not awaited again.
    private static var backoffTime: Duration { .seconds(5) }

    /// Maximum number of answers merged in one transaction.
    private static var mergedMax: Int { 100 }

    /// Maximum number of requests for one object.
    private static var triesMax: Int { 3 }

    /// Makes a program's access to a file or directory wait until all its remote metadata is known,
    /// so that no assumed mode, time or kind is shown.
    ///
    /// Does not wait if the remote is out of reach or a recent wait failed.
    func requireMetadata(of found: FoundRecord) throws(Blocked) {
        let record = found.record
        guard !record.hasMetadata, !gate.traits.trustsListings else { return }
        // During a move of our own, the answer would prove nothing.
        if try store.readBriefly({ try $0.uncertainInode(atOrAbove: record.id) }) != nil { return }
        let isAwaited = found.isUnseen && isLookAwaited(record)
        looks.request(record.id, isAwaited: isAwaited)
        guard isAwaited else { return }
        try fetchAhead(of: record.id)
        throw .awaits(.look(record.id))
    }

    private func isLookAwaited(_ record: InodeRecord) -> Bool {
        let now = clock.uptime
        return record.kind != .symlink && !gate.traits.listsMetadata
            && !looks.isInBackoff(record.id, at: now) && !gate.isOutOfReach(at: now)
    }

    /// Requests the metadata that the program is likely to need next.
    private func fetchAhead(of inode: InodeNumber) throws(Blocked) {
        let place = try store.read { database in
            try database.dirent(of: inode).map { ($0, try database.isFirst($0)) }
        }
        guard let (dirent, isFirst) = place else { return }
        let isOfWalk = try walks.noteLook(in: dirent.parent)
        let count = looks.walks.withLock {
            $0.note(
                dirent.parent, cookie: dirent.cookie, isFirst: isFirst, isOfWalk: isOfWalk,
                at: clock.uptime)
        }
        guard count > 0 else { return }
        // A few places are not worth reading hundreds of names.
        guard looks.room >= min(count, MetadataQueue.expectedMax / 8) else {
            return looks.walks.withLock { $0.noteNoRoom(in: dirent.parent) }
        }
        let expected = try store.read {
            try $0.unseen(in: dirent.parent, after: dirent.cookie, among: count)
        }
        guard !looks.requestAhead(expected) else { return }
        looks.walks.withLock { $0.noteNoRoom(in: dirent.parent) }
    }

    /// Returns once a fetch has ended, successfully or not, or has taken too long.
    func awaitMetadata(at inode: InodeNumber) async {
        let flight = looks.request(inode, isAwaited: true)
        let successes = looks.successes
        await flight.completion.wait(
            after: 0, until: clock.uptime + Self.patience, on: clock)
        guard flight.completion.notifications > 0 else {
            if Task.isCancelled { return }
            let end = clock.uptime + DeadlineProvider.lookMax
            looks.setBackoff(inode, until: end)
            // If the store has answered no request meanwhile, the next one would wait as long.
            if looks.successes == successes { looks.setBackoff(nil, until: end) }
            return
        }
        // Either the process is ending, or the inode's remote key is unknown: another request would
        // end at once too, in an endless loop.
        let isSeen = try? store.readBriefly { database in
            try database.inode(inode).map { try !database.isUnseen($0) } ?? true
        }
        if isSeen != true { beginBackoff(at: inode) }
    }

    var traits: ProviderTraits { gate.traits }

    /// Returns whether an inode is not to be awaited, because a recent wait failed.
    func isInBackoff(_ inode: InodeNumber, at now: Duration) -> Bool {
        looks.isInBackoff(inode, at: now)
    }

    /// Makes the next requests for an inode use the listing.
    func beginBackoff(at inode: InodeNumber) {
        looks.setBackoff(inode, until: clock.uptime + Self.backoffTime)
    }

    func run() async {
        await looks.run(sideBySide: gate.traits.queriesMax, on: clock) {
            gate.isPaused
        } prepare: { inodes in
            places(of: inodes)
        } look: { inode, facts in
            var facts = facts
            var backoff = Backoff(first: .milliseconds(200), longest: .seconds(1))
            for attempt in 1...Self.triesMax {
                if await fetchDetails(of: inode, facts) { return }
                guard attempt < Self.triesMax else { break }
                try? await clock.sleep(until: clock.uptime + backoff.next(random))
                facts = .unread
            }
            // A later access requests it again.
            beginBackoff(at: inode)
        }
    }

    /// The facts that a fetch needs.
    private enum Facts: Sendable {
        case place(MetadataPlace)
        /// Nothing is to be fetched.
        case complete
        case unread
    }

    /// Reads the facts for several inodes in one transaction.
    private func places(of inodes: [InodeNumber]) -> [Facts] {
        let facts = try? store.read { database in
            var parents = ParentPlaces(database)
            return try inodes.map { try Self.facts(about: $0, &parents) }
        }
        return facts ?? inodes.map { _ in .unread }
    }

    private static func facts(
        about inode: InodeNumber, _ parents: inout ParentPlaces
    ) throws -> Facts {
        let database = parents.database
        guard let record = try database.inode(inode), !record.hasMetadata,
            let synced = try database.synced(inode),
            let key = try parents.key(of: inode, synced)
        else { return .complete }
        return .place(MetadataPlace(key: key, synced: synced))
    }

    /// - Returns: Whether no further request is needed.
    private func fetchDetails(of inode: InodeNumber, _ facts: Facts) async -> Bool {
        do throws(ProviderError) {
            guard try await fetchMetadata(of: inode, facts) else { return false }
            looks.noteSuccess()
            return true
        } catch {
            logger.debug(
                "metadata not fetched", metadata: ["inode": "\(inode)", "reason": "\(error)"])
            if let delay = error.retryAfter {
                // The store asks for a pause, which applies to other files too.
                looks.setBackoff(nil, until: clock.uptime + delay)
                return true
            }
            if !error.isPassing { beginBackoff(at: inode) }
            return !error.isPassing
        }
    }

    /// Fetches the metadata of an inode that the listing lacked.
    ///
    /// - Returns: Whether all available metadata is known; false if a change of our own intervened.
    /// - Throws: `.missing` if it is gone; `.busy` while our own change is in progress.
    func fetchMetadata(of inode: InodeNumber) async throws(ProviderError) -> Bool {
        try await fetchMetadata(of: inode, .unread)
    }

    private func fetchMetadata(
        of inode: InodeNumber, _ facts: Facts
    ) async throws(ProviderError) -> Bool {
        var facts = facts
        if case .unread = facts {
            facts = try engineWork { () throws(Blocked) in
                try store.read { database in
                    var parents = ParentPlaces(database)
                    return try Self.facts(about: inode, &parents)
                }
            }
        }
        guard case .place(let place) = facts else { return true }
        let object = try await detailed(inode, at: place.key, place.synced)
        let answer = MetadataAnswer(inode: inode, place: place, object: object)
        return try await merging.merge(answer, limit: Self.mergedMax, merge).get()
    }

    /// Merges answers in one transaction; after a failure, each in its own.
    private func merge(_ answers: [MetadataAnswer]) -> [MetadataAnswers.Outcome] {
        do throws(Blocked) {
            return try merger.merge { merge in
                var parents = ParentPlaces(merge.database)
                return try answers.map { .success(try take($0, &merge, &parents)) }
            }
        } catch {
            if answers.count > 1 { return answers.flatMap { merge([$0]) } }
            return [.failure(ProviderError(preparing: error))]
        }
    }

    /// - Returns: Whether all available metadata is known; false if a change of our own intervened.
    private func take(
        _ answer: MetadataAnswer, _ merge: inout Merge, _ parents: inout ParentPlaces
    ) throws -> Bool {
        let (inode, place) = (answer.inode, answer.place)
        // Another object may be there since a directory above it was moved.
        guard let known = try merge.database.lookedAt(inode), known.synced == place.synced,
            !known.hasIntent,
            try parents.key(of: inode, place.synced) == place.key,
            try !parents.isUncertain(place.synced.parent),
            !activity.isClaimed(place.key)
        else { return false }
        if try !merge.applyMetadata(answer.object, known) {
            // Another version was merged, which may have changed anything.
            parents = ParentPlaces(merge.database)
        }
        return true
    }

    private func detailed(
        _ inode: InodeNumber, at key: ObjectKey, _ synced: SyncedRecord
    ) async throws(ProviderError) -> RemoteObject {
        do throws(ProviderError) {
            return try await gate.stat(key)
        } catch {
            guard error.kind == .missing || error.kind == .wrongKind else { throw error }
            let isOurs = try engineWork { () throws(Blocked) in
                try answers.isOutdated(inode, askedAt: key, etag: synced.etag)
            }
            if isOurs { throw ProviderError(outdated: error) }
            // The directory's listing shows whether it was moved or deleted.
            await lister.refreshQuietly(synced.parent)
            throw error
        }
    }
}
