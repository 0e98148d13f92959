import Logging

/// Fetches what is missing of pinned files, in the background, and lists pinned directories to find what the remote
/// has changed.
///
/// It counts all pinned files before it fetches any: those that do not fit into the cache are left alone.
struct PinFetcher: Sendable {
    let pins: Pins
    let store: Store
    let clock: any Clock
    let logger: Logger
    let random: @Sendable () -> UInt64
    let gate: RemoteGate
    let lister: Lister
    let downloader: Downloader
    /// The least interval at which pinned directories are listed.
    let refreshInterval: Duration

    /// The files fetched side by side: so few that the requests of programs find a place at the remote.
    private var filesMax: Int {
        if downloader.content.readAhead.isBusy { return 1 }
        return min(4, max(1, gate.traits.transfersMax / 4))
    }

    private static var failuresMax: Int { 20 }
    /// Listings that are not the first take a twentieth of the time at most.
    private static var listingRest: Int { 19 }
    /// So does counting after each of many changes, up to a bound.
    private static var countingRest: Int { 19 }
    private static var countingRestMax: Duration { .seconds(10) }

    /// Keeps pinned files here until the calling task is cancelled.
    func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.forwardRecoveries() }
            await self.keep()
            group.cancelAll()
        }
    }

    /// What failed is tried again at the end of an outage.
    private func forwardRecoveries() async {
        while !Task.isCancelled {
            let notifications = gate.outage.recoveries.notifications
            await gate.outage.recoveries.wait(after: notifications)
            pins.signal.notify()
        }
    }

    private func keep() async {
        var backoff = Self.backoff
        var nextListing = Duration.zero
        while !Task.isCancelled {
            let notifications = pins.signal.notifications
            let begin = clock.uptime
            let lists = begin >= nextListing
            var counted = begin
            var isDone = false
            do {
                guard try store.read({ try $0.hasPins() }) else {
                    await pins.signal.wait(after: notifications)
                    continue
                }
                let changeCount = pins.changeCount
                let count = try await count(lists: lists)
                counted = clock.uptime
                isDone = try await fetch(count, while: changeCount)
            } catch {
                logger.debug("pinned files not fetched", metadata: ["reason": "\(error)"])
            }
            if lists {
                nextListing = counted + max(refreshInterval, (counted - begin) * Self.listingRest)
            }
            if isDone { backoff = Self.backoff }
            let next = isDone ? nextListing : min(nextListing, clock.uptime + backoff.next(random))
            await pins.signal.wait(after: notifications, until: next, on: clock)
            if lists { continue }
            let rest = min((counted - begin) * Self.countingRest, Self.countingRestMax)
            try? await clock.sleep(until: counted + rest)
        }
    }

    private static var backoff: Backoff { Backoff(first: .seconds(1), longest: .seconds(60)) }

    private var isInReach: Bool { !gate.isPaused && !gate.isOutOfReach(at: clock.uptime) }

    // MARK: Counting

    private struct Count {
        var sums = PinSums()
        /// Whether all directories are listed.
        var isComplete = true
    }

    /// Counts all pinned files.
    ///
    /// - Parameter lists: Whether to list directories again that are listed.
    private func count(lists: Bool) async throws -> Count {
        var count = Count()
        var walk = PinWalk(try store.read { try $0.pinRoots() })
        while let step = try pins.next(&walk) {
            try Task.checkCancellation()
            switch step {
            case .files(let files): _ = pins.add(files, to: &count.sums)
            case .directory(let directory, let isListed):
                if lists || !isListed, isInReach { await lister.refreshQuietly(directory) }
                if isListed { continue }
                let record = try store.read { try $0.inode(directory) }
                if record?.isListed == false { count.isComplete = false }
            }
        }
        return count
    }

    // MARK: Fetching

    /// Fetches what is missing, if all pinned files fit.
    ///
    /// - Parameter changeCount: The value of ``Pins/changeCount`` before the count.
    /// - Returns: Whether nothing is left to be done until a change, or the next listing.
    private func fetch(_ count: Count, while changeCount: UInt64) async throws -> Bool {
        let isExceeding = count.sums.bytes > pins.bytesMax
        let isMissing = count.sums.filesMissing > 0
        let isInReach = isInReach
        guard changeCount == pins.changeCount else { return true }
        pins.update { status in
            status.sums = count.sums
            status.isCounted = count.isComplete
            status.hindrance =
                isExceeding
                ? .excess : isInReach || !isMissing && count.isComplete ? nil : .outOfReach
            if !isMissing || isExceeding { status.failures = [] }
        }
        guard isMissing, !isExceeding else { return count.isComplete }
        guard isInReach else { return false }
        let result = Locked(FetchResult())
        try await fetchAll(while: changeCount, result)
        let (failures, hasNoRoom) = result.withLock { ($0.failures, $0.hasNoRoom) }
        pins.update { status in
            status.failures = failures
            if hasNoRoom { status.hindrance = .noRoom }
        }
        return failures.isEmpty && !hasNoRoom && self.isInReach && count.isComplete
    }

    private struct FetchResult {
        var failures: [PinStatus.Failure] = []
        /// Failures after which a later attempt may succeed.
        var passingFailures = 0
        var hasNoRoom = false

        /// Whether the rest is better left to a later pass: the remote is in trouble, or there is no room.
        var isHopeless: Bool { hasNoRoom || passingFailures >= failuresMax }
    }

    private func fetchAll(
        while changeCount: UInt64, _ result: Locked<FetchResult>
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            var walk = PinWalk(try store.read { try $0.pinRoots() })
            var running = 0
            while let step = try pins.next(&walk) {
                guard case .files(let files) = step else { continue }
                var sums = PinSums()
                for file in pins.add(files, to: &sums) {
                    while running >= filesMax {
                        try await group.next()
                        running -= 1
                    }
                    guard mayContinue(changeCount, result) else { return }
                    group.addTask { await fetch(file, while: changeCount, result) }
                    running += 1
                }
            }
        }
    }

    private func mayContinue(_ changeCount: UInt64, _ result: Locked<FetchResult>) -> Bool {
        !Task.isCancelled && changeCount == pins.changeCount && isInReach
            && !result.withLock(\.isHopeless)
    }

    private func fetch(
        _ file: PinnedFile, while changeCount: UInt64, _ result: Locked<FetchResult>
    ) async {
        do {
            let isWhole = try await downloader.fetchWhole(
                file, while: { mayContinue(changeCount, result) },
                arrived: { bytes in
                    pins.update { $0.sums.bytesMissing -= min($0.sums.bytesMissing, bytes) }
                })
            if isWhole { pins.update { $0.sums.filesMissing -= min($0.sums.filesMissing, 1) } }
        } catch {
            note(error, of: file.inode, result)
        }
    }

    /// Records a failure, unless the file is gone or the mount ends.
    private func note(_ error: any Error, of inode: InodeNumber, _ result: Locked<FetchResult>) {
        logger.debug(
            "pinned file not fetched", metadata: ["inode": "\(inode)", "reason": "\(error)"])
        let path = try? store.read { database -> ObjectKey? in
            guard try database.dirent(of: inode) != nil else { return nil }
            return ObjectKey(try database.path(of: inode))
        }
        guard let path = path.flatMap(\.self), !Task.isCancelled else { return }
        let reason = SyncFailure(error)
        result.withLock { result in
            if EngineError.contained(in: error)?.kind == .outOfSpace {
                result.hasNoRoom = true
                return
            }
            if reason.isPassing { result.passingFailures += 1 }
            guard result.failures.count < Self.failuresMax else { return }
            result.failures.append(PinStatus.Failure(path: path.description, reason: reason))
        }
    }
}
