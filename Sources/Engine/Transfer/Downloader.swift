import Synchronization

/// Fetches extents of files: on demand, and the rest of an open file in the background.
struct Downloader: Sendable {
    let configuration: EngineConfiguration
    let store: Store
    let clock: any Clock
    let content: ContentStore
    let gate: RemoteGate
    let answers: OutdatedAnswers
    let lister: Lister
    let metadata: MetadataFetcher
    let wholeFileCheck: WholeFileCheck
    let changes: Signal

    private static var fillersMax: Int { 8 }

    /// Returns once the part of `range` that lies within the file is local.
    ///
    /// The first request for missing bytes fetches them; others wait for it. The rest of the file
    /// follows in the background while the file is open and the cache has room for it; in a full
    /// cache, the bytes that follow the last read.
    ///
    /// - Throws: `ProviderError`, `EngineError`, `Blocked`.
    func materialise(_ inode: InodeNumber, _ range: Range<UInt64>) async throws {
        let file = try content.retain(inode)
        defer { content.releaseUse(of: inode) }
        try await fetch(file, range, for: .request, fillsRest: true)
    }

    /// Fetches the missing bytes of a range, piece by piece.
    ///
    /// - Parameter fillsRest: Whether the rest of the file follows in the background.
    /// - Returns: Whether all of it is local; false only if the cache has no room for readahead.
    @discardableResult
    func fetch(
        _ file: OpenFile, _ range: Range<UInt64>, for reason: Space.FetchReason,
        fillsRest: Bool = false
    ) async throws -> Bool {
        while true {
            let notifications = file.arrivals.notifications
            let (pieceBytes, now) = (pieceBytes(for: reason), clock.uptime)
            let (claim, isResting) = file.state.withLock { state in
                if reason == .request { state.reads.expect(range, at: now) }
                return (
                    Self.claim(range, pieceBytes: pieceBytes, &state),
                    state.rest.map { now < $0.until } ?? false
                )
            }
            // During a pause it would fail at once, wake this request, and be requested again.
            if fillsRest, !isResting { content.fillQueue.request(file) }
            switch claim {
            case .here: return true
            case .elsewhere:
                await file.arrivals.wait(after: notifications)
                if Task.isCancelled {
                    throw EngineError(.interrupted, "fetch bytes of inode \(file.inode)")
                }
            case .ours(let piece):
                defer {
                    file.state.withLock { $0.inFlight.remove(piece) }
                    file.arrivals.notify()
                    changes.notify()
                }
                try requireNoRest(of: file)
                guard try await admit(piece, of: file, for: reason) else { return false }
                defer { content.space.endFetch(UInt64(piece.count), of: file) }
                do {
                    try await fetchPiece(piece, of: file)
                } catch let error as ProviderError {
                    noteRest(of: file, error)
                    throw error
                }
            }
        }
    }

    private func pieceBytes(for reason: Space.FetchReason) -> UInt64 {
        let cache = content.space.cache
        guard reason == .request else { return cache.fillBytes }
        // Of many requests, each gets its own bytes only.
        return cache.isCrowded ? 0 : cache.demandBytes
    }

    /// Reserves space in the cache; waits for it while other requests take all.
    ///
    /// - Returns: Whether there is space.
    private func admit(
        _ piece: Range<UInt64>, of file: OpenFile, for reason: Space.FetchReason
    ) async throws -> Bool {
        let space = content.space
        while true {
            let notifications = space.cache.signal.notifications
            switch try space.admit(UInt64(piece.count), of: file, for: reason) {
            case .admitted: return true
            case .refused: return false
            case .later: await space.cache.signal.wait(after: notifications)
            }
            if Task.isCancelled {
                throw EngineError(.interrupted, "wait for space in the cache")
            }
        }
    }

    /// Requires that no pause requested by the store for this file is in effect, whichever reader
    /// was asked.
    private func requireNoRest(of file: OpenFile) throws(ProviderError) {
        guard let (until, reason) = file.state.withLock({ $0.rest }), clock.uptime < until
        else { return }
        throw ProviderError(
            reason.kind, attempt: reason.attempt, reason: reason.reason, remedy: reason.remedy,
            retryAfter: until - clock.uptime, cause: reason)
    }

    /// Records a pause requested by the store, for at most the deadline of a request: a later
    /// reader may ask the store again.
    private func noteRest(of file: OpenFile, _ error: ProviderError) {
        guard error.isPassing, let delay = error.retryAfter else { return }
        let until = clock.uptime + min(delay, configuration.requestDeadline)
        file.state.withLock { $0.rest = (until, error) }
    }

    private enum Claim {
        case here
        /// Other requests are fetching all missing bytes.
        case elsewhere
        case ours(Range<UInt64>)
    }

    /// Decides which piece to fetch next for `range`, and claims it.
    private static func claim(
        _ range: Range<UInt64>, pieceBytes: UInt64, _ state: inout OpenFile.State
    ) -> Claim {
        let wanted = min(range.lowerBound, state.size)..<min(range.upperBound, state.size)
        if state.present.contains(wanted) { return .here }
        guard let free = state.firstMissing(in: wanted) else { return .elsewhere }
        // A small request also fetches the bytes likely to be needed next, up to those that are
        // local or in flight.
        let room = free.lowerBound..<min(state.size, free.lowerBound + pieceBytes)
        let absent = state.present.firstGap(in: room) ?? free
        let piece = state.inFlight.firstGap(in: absent) ?? free
        state.inFlight.insert(piece)
        return .ours(piece)
    }

    /// Fetches one piece of the version that both sides agreed on. It counts as local only once the
    /// store has sent all of it and confirmed its version (I5).
    private func fetchPiece(_ piece: Range<UInt64>, of file: OpenFile) async throws {
        let inode = file.inode
        let (key, synced) = try store.read {
            (try $0.remoteKey(of: inode), try $0.synced(inode))
        }
        guard let key, let synced, let etag = synced.etag, piece.upperBound <= synced.size else {
            throw EngineError(
                .changedRemotely,
                "fetch \(piece.count) bytes at \(piece.lowerBound) of inode \(inode)",
                remedy: "the remote no longer has this version; open the file again")
        }
        try content.space.reserve(for: UInt64(piece.count), "fetch \(piece.count) bytes")
        do throws(ProviderError) {
            try await read(piece, of: file, at: key, etag)
        } catch {
            if error.kind == .sink, (error.cause as? DiskError)?.kind == .full {
                content.space.noteRefusal()
                return try await fetchPiece(piece, of: file)
            }
            if error.kind == .changed || error.kind == .missing || error.kind == .wrongKind {
                if try answers.isOutdated(inode, askedAt: key, etag: etag) {
                    throw ProviderError(outdated: error)
                }
                // The remote no longer has this version; the listing shows which one it has.
                await lister.refreshQuietly(synced.parent)
            }
            if error.kind == .wrongKind {
                // It may have been a symbolic link all along: a listing need not distinguish it
                // from a file.
                _ = try await metadata.fetchMetadata(of: inode)
                throw ProviderError(
                    .changed, attempt: error.attempt, reason: error.reason, cause: error)
            }
            throw error
        }
        let isLastOfSeveral = file.state.withLock { state in
            state.present.insert(piece)
            return state.isWhole && state.isUnchanged && piece.count < state.size
        }
        if isLastOfSeveral { wholeFileCheck.request(inode) }
    }

    /// Reads from the last known place; or, during a long move that is made object by object, from
    /// the destination.
    private func read(
        _ piece: Range<UInt64>, of file: OpenFile, at key: ObjectKey, _ etag: ETag
    ) async throws(ProviderError) {
        do throws(ProviderError) {
            try await gate.read(key, range: piece, etag: etag, into: ContentSink(file: file))
        } catch {
            guard error.kind == .missing || error.kind == .changed,
                let ahead = try engineWork({ () throws(Blocked) in
                    try store.read { try $0.remoteKeyAhead(of: file.inode) }
                })
            else { throw error }
            do throws(ProviderError) {
                try await gate.read(
                    ahead, range: piece, etag: etag, into: ContentSink(file: file))
            } catch let second {
                throw second.isPassing ? second : error
            }
        }
    }

    func run() async {
        await withTaskGroup(of: Void.self) { group in
            var running = 0
            while !Task.isCancelled {
                let notifications = content.fillQueue.signal.notifications
                let next = content.fillQueue.removeFirst()
                guard let next else {
                    await content.fillQueue.signal.wait(after: notifications)
                    continue
                }
                if running == Self.fillersMax {
                    await group.next()
                    running -= 1
                }
                running += 1
                group.addTask { await self.fill(next) }
            }
            group.cancelAll()
        }
    }

    /// Fetches the rest of a file while it is open and the cache has room: all of it without
    /// evicting others, else the bytes after the last read.
    private func fill(_ inode: InodeNumber) async {
        let cache = content.space.cache
        while !Task.isCancelled, let file = content.files.existing(inode) {
            do {
                let hasRoom = try content.space.hasRoom(for: cache.fillBytes)
                let next = file.state.withLock {
                    $0.firstToFill(hasRoom: hasRoom, window: cache.windowBytes)
                }
                if let next, !cache.isReadaheadPaused(at: clock.uptime) {
                    let use = try content.retain(inode)
                    defer { content.releaseUse(of: inode) }
                    let end = min(next.upperBound, next.lowerBound + cache.fillBytes)
                    if try await fetch(use, next.lowerBound..<end, for: .readahead) { continue }
                    cache.noteReadaheadRefused(at: clock.uptime)
                }
            } catch {
                // No request waits for it; the next read of these bytes meets the failure itself.
            }
            file.state.withLock { $0.isFilling = false }
            changes.notify()
            return
        }
    }

    /// Returns once the remote has sent the first bytes of the known version, or for a writer all of
    /// a small one.
    ///
    /// - Throws: `ProviderError`, `EngineError`, `Blocked`; `.changedRemotely` if it has another
    ///   version.
    func awaitVersion(of inode: InodeNumber, for access: FileAccess) async throws {
        let file = try content.retain(inode)
        defer { content.releaseUse(of: inode) }
        guard let awaited = content.awaited(of: file, for: access) else { return }
        do {
            // A reader is likely to continue.
            try await fetch(
                file, awaited, for: .request, fillsRest: access == .read)
        } catch let error as ProviderError where access == .write {
            switch error.kind {
            case .changed, .missing, .wrongKind:
                // Also if it has none: a caller that may create the file finds that out by name.
                throw EngineError(.changedRemotely, error.attempt, cause: error)
            case .cancelled: throw error
            default:
                // Bytes written meanwhile are kept, and merged with it later.
                metadata.beginBackoff(at: inode)
            }
        }
    }
}

/// Writes arriving bytes into a content file, except for ranges written locally meanwhile.
private struct ContentSink: ByteSink {
    let file: OpenFile

    func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws {
        try file.state.withLock { state in
            for gap in state.present.gaps(in: offset..<(offset + UInt64(bytes.count))) {
                let part = Int(gap.lowerBound - offset)..<Int(gap.upperBound - offset)
                try state.file.write(
                    UnsafeRawBufferPointer(rebasing: bytes[part]), at: gap.lowerBound)
            }
            // Fetching does not modify a file that is being written.
            if state.isMarkedWriting { try state.file.setModified(state.modified) }
        }
    }
}
