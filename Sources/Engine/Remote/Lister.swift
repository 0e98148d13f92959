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
    let listings = ListingQueue()

    /// Lists a directory and applies the remote changes found.
    ///
    /// Concurrent callers share one listing.
    ///
    /// - Throws: `ProviderError`, `EngineError`; `CancellationError` if the calling task is
    ///   cancelled, which does not cancel the listing.
    func list(_ directory: InodeNumber) async throws {
        try await listings.request(directory, at: clock.uptime).wait()
    }

    func run() async {
        await listings.run { try await self.listAlone($0, $1) }
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
        guard let key = try store.read({ try $0.remoteKey(of: directory) }) else {
            // Not yet on the remote, so the local state is complete.
            return try store.write { database in
                guard var record = try database.inode(directory),
                    try database.remoteKey(of: directory) == nil
                else { return }
                record.isListed = true
                try database.update(record)
            }
        }
        schedule.uses.withLock { $0.noteListing(directory, at: clock.uptime) }
        let watch = activity.watch(key)
        defer { activity.end(watch) }
        var listed = ListingMerge(
            directory: directory, key: key, activity: activity, watch: watch)
        var course = ListingCourse(
            entriesMax: configuration.listingEntriesMax, at: clock.uptime)
        let cursor = gate.entries(of: key)
        var page: ListingPage
        repeat {
            page = try await fetch(cursor, of: directory, at: key)
            let knownNames = listed.seen.count
            listed.seen.formUnion(page.objects.lazy.map(\.name))
            let newNames = listed.seen.count - knownNames
            if newNames > 0 { flight.noteProgress(at: clock.uptime) }
            try requireEnd(newNames: newNames, isLast: page.isLast, &course, key)
            try space.requireBallast("list \"\(key)\"")
            let differences = try merger.compare {
                try $0.differences(in: page.objects, isLast: page.isLast, listed)
            }
            guard let differences else { continue }
            let isCurrent = try merger.merge {
                try $0.take(differences, isLast: page.isLast, listed)
            }
            guard isCurrent else {
                try answers.settleDoubt(atOrAbove: directory)
                throw ProviderError(
                    .busy, attempt: "list \"\(key)\"", reason: "the directory is being moved")
            }
        } while !page.isLast
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
