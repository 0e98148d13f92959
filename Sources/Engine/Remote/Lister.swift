import Logging
import Synchronization

/// Lists directories, one listing at a time for each, and merges the results.
struct Lister: Sendable {
    let configuration: EngineConfiguration
    let store: Store
    let clock: any Clock
    let logger: Logger
    let gate: RemoteGate
    let activity: RemoteActivity
    let answers: OutdatedAnswers
    let schedule: DirectoriesInUse
    let space: Space
    let merger: Merger
    let walks: Locked<WalkDetector>
    let firstLooks: Locked<FirstLooks>
    let listings = ListingQueue()

    /// Lists a directory and applies the remote changes found.
    ///
    /// Concurrent callers share one listing. While the remote is out of reach, none joins one that may
    /// take long to fail.
    ///
    /// - Throws: `ProviderError`, `EngineError`; `CancellationError` if the calling task is
    ///   cancelled, which does not cancel the listing.
    func list(_ directory: InodeNumber) async throws {
        if listings.flight(of: directory) != nil,
            let key = try store.read({ try $0.remoteKey(of: directory) })
        {
            try gate.requireReach(for: .list(key))
        }
        let flight = listings.request(directory, at: clock.uptime)
        try await listings.awaitEnd(of: flight, for: directory, on: clock)
    }

    /// - Parameter noteListing: Called after each complete listing, before those who wait for it go on.
    func run(noteListing: @escaping @Sendable (InodeNumber) -> Void) async {
        await listings.run { directory, flight in
            try await self.listAlone(directory, flight)
            noteListing(directory)
        }
    }

    /// Lists a directory to detect changes. Failures are only logged: a request that needs the
    /// listing meets them itself.
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
        let key = try store.read { database in
            // The remote may have a directory where this is another item, still.
            if let record = try database.inode(directory), record.kind != .directory {
                throw Blocked.failure(.notDirectory, "list inode \(directory)")
            }
            return try database.remoteKey(of: directory)
        }
        guard let key else {
            // Not yet on the remote, so the local state is complete.
            return try store.write { database in
                guard var record = try database.inode(directory),
                    try database.remoteKey(of: directory) == nil
                else { return }
                record.isListed = true
                try database.update(record)
            }
        }
        let begin = clock.uptime
        let isAhead = flight.isAhead
        schedule.uses.withLock { $0.noteListing(directory, isAhead: isAhead, at: begin) }
        // Before the listing begins, so that no change is neither in it nor reported.
        let isFollowed = await follow(directory, at: key)
        var outcome: (hasNews: Bool, isProof: Bool)?
        var isGone = false
        defer {
            let now = clock.uptime
            let progress = outcome == nil ? max(flight.progress, begin) : now
            schedule.uses.withLock {
                $0.noteEnd(
                    of: directory, begunAt: begin, busy: progress - begin,
                    hasNews: outcome?.hasNews, isGone: isGone,
                    isVouched: isFollowed && outcome?.isProof ?? false, at: now)
            }
        }
        do {
            outcome = try await listAll(directory, at: key, flight)
        } catch let error as ProviderError {
            isGone = error.kind == .missing || error.kind == .wrongKind
            throw error
        }
        firstLooks.withLock { $0.noteListing(of: directory) }
    }

    /// - Returns: Whether the remote reports each change in a directory from now on.
    private func follow(_ directory: InodeNumber, at key: ObjectKey) async -> Bool {
        guard schedule.uses.withLock({ $0.beginFollowing(directory, as: key) }) else {
            return false
        }
        // The listing meets any failure itself.
        let isFollowed = (try? await gate.follow(key)) == true
        return schedule.uses.withLock {
            $0.endFollowing(directory, as: key, isFollowed: isFollowed)
        }
    }

    /// - Returns: Whether anything differed from the known state, and whether all of it was compared:
    ///   no operation of ours has changed names meanwhile, and none whose result is in doubt may have.
    private func listAll(
        _ directory: InodeNumber, at key: ObjectKey, _ flight: ListingQueue.Flight
    ) async throws -> (hasNews: Bool, isProof: Bool) {
        let watch = activity.watch(key)
        defer { activity.end(watch) }
        let listing = ListingMerge(
            directory: directory, key: key, activity: activity, watch: watch,
            names: gate.traits.names,
            isOfUnknown: try !gate.traits.names.isFolding
                && merger.compare { try $0.isUnknown(directory) })
        var course = ListingCourse(
            entriesMax: configuration.listingEntriesMax, at: clock.uptime)
        var batch = ListingBatch(isAhead: flight.isAhead, at: clock.uptime)
        let cursor = gate.entries(of: key)
        var (hasNews, isRepeated) = (false, false)
        var page: ListingPage
        do {
            repeat {
                page = try await fetch(cursor, of: directory, at: key)
                let newNames =
                    try listing.isOfUnknown
                    ? isRepeated ? 0 : page.objects.count
                    : listing.seen.insert(page.objects.lazy.map(\.name))
                if newNames > 0 { flight.noteProgress(at: clock.uptime) }
                try requireEnd(newNames: newNames, isLast: page.isLast, &course, key)
                try space.requireBallast("list \"\(key)\"")
                // While pages count as repeated, each one is looked at.
                if batch.add(page, at: clock.uptime) || isRepeated {
                    let objects = batch.take(at: clock.uptime)
                    if !objects.isEmpty { isRepeated = try !merge(objects, of: listing) }
                    hasNews = hasNews || !isRepeated && !objects.isEmpty
                }
                if !page.isLast { try requireUse(of: flight) }
            } while !page.isLast
        } catch {
            // The names found so far are kept, if there is room for them.
            if (try? space.requireBallast("list \"\(key)\"")) != nil {
                _ = try? merge(batch.take(at: clock.uptime), of: listing)
            }
            throw error
        }
        hasNews = try await finish(listing) || hasNews
        // Names that operations in doubt may have taken were omitted.
        let isOmitting = try store.read { try $0.firstIntendedChild(of: directory) != nil }
        return (hasNews, !isOmitting && !activity.isAnyTouched(watch))
    }

    /// Merges objects, in transactions so small that other writers do not wait long.
    ///
    /// - Returns: Whether anything differed from the known state.
    private func merge(_ objects: [RemoteObject], of listing: ListingMerge) throws -> Bool {
        let exclusions = configuration.exclusions
        let objects =
            try exclusions.isEmpty
            ? objects
            : store.read { database in
                // Changes of known ones are still to be sent.
                try exclusions.visible(objects, in: listing.key) {
                    try database.isShown($0, in: listing.directory)
                }
            }
        var hasNews = false
        if listing.isOfUnknown {
            // There is nothing to compare them with; most names are new.
            for piece in objects.pieces(of: configuration.mergedEntriesMax) {
                let (isMerged, newNames) = try merger.merge {
                    (try $0.take(Array(piece), listing), $0.newNames)
                }
                guard isMerged else { throw try outdated(listing) }
                if newNames > 0 { hasNews = true }
            }
            return hasNews
        }
        for piece in objects.pieces(of: Self.comparedObjects) {
            let compared = try merger.compare { try $0.differences(in: Array(piece), listing) }
            guard let differences = compared else { throw try outdated(listing) }
            for piece in differences.pieces(of: configuration.mergedEntriesMax) {
                guard try merger.merge({ try $0.take(Array(piece), listing) }) else {
                    throw try outdated(listing)
                }
                hasNews = true
            }
        }
        return hasNews
    }

    /// Number of objects compared with the known state in one query.
    private static var comparedObjects: Int { 1_000 }

    /// Merges the end of a complete listing.
    ///
    /// - Returns: Whether anything differed from the known state.
    private func finish(_ listing: ListingMerge) async throws -> Bool {
        let compared = try merger.compare { try $0.end(of: listing) }
        guard var end = compared else { throw try outdated(listing) }
        var areManyMissing = false
        let missing = MissingNames(
            listing: listing, merger: merger, clock: clock,
            recordedMax: configuration.mergedEntriesMax)
        if let few = try missing.few(isFirst: end.isFirst) {
            end.missing = few
        } else if !end.isFirst {
            areManyMissing = true
            guard let isHeld = try await missing.record() else { throw try outdated(listing) }
            if isHeld { end.isHeld = true }
        }
        if end.isEmpty { return areManyMissing }
        guard try merger.merge({ [end] in try $0.finish(end, listing) }) else {
            throw try outdated(listing)
        }
        return true
    }

    /// - Throws: `CancellationError` for a listing ahead of a walk that has ended.
    private func requireUse(of flight: ListingQueue.Flight) throws(CancellationError) {
        if flight.isAhead, !walks.withLock({ $0.isAlive(at: clock.uptime) }), flight.withdraw() {
            throw CancellationError()
        }
    }

    private func outdated(_ listing: ListingMerge) throws(Blocked) -> ProviderError {
        try answers.settleDoubt(atOrAbove: listing.directory)
        return ProviderError(
            .busy, attempt: "list \"\(listing.key)\"", reason: "the directory is being moved")
    }

    private func fetch(
        _ cursor: ListingCursor, of directory: InodeNumber, at key: ObjectKey
    ) async throws -> ListingPage {
        do throws(ProviderError) {
            return try await cursor.next()
        } catch {
            let isGone = error.kind == .missing || error.kind == .wrongKind
            if isGone, try answers.isOutdated(directory, askedAt: key, etag: nil) {
                throw ProviderError(outdated: error)
            }
            // Its parent's listing shows whether it was moved or deleted.
            if isGone, directory != .root,
                let parent = try store.read({ try $0.synced(directory)?.parent })
            {
                await refreshQuietly(parent)
            }
            throw error
        }
    }

    /// Logs a large listing in progress.
    ///
    /// - Throws: `ProviderError` for an endless listing.
    private func requireEnd(
        newNames: Int, isLast: Bool, _ course: inout ListingCourse, _ key: ObjectKey
    ) throws(ProviderError) {
        do throws(ProviderError) {
            try course.take(newNames: newNames, isLast: isLast)
        } catch {
            logger.warning(
                "endless listing",
                metadata: ["directory": "\(key)", "reason": "\(error.reason)"])
            throw error.during(.list(key))
        }
        guard let duration = course.takeLength(at: clock.uptime) else { return }
        logger.warning(
            "large listing in progress",
            metadata: [
                "directory": "\(key)", "entries": "\(course.entries)",
                "seconds": "\(duration.components.seconds)",
            ])
    }
}
