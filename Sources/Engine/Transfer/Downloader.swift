import Synchronization

/// Fetches extents of files: on demand, and the rest of an open file in the background.
final class Downloader: Sendable {
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
    let demanded = DemandedPieces()
    let fetched = FetchedBytes()

    init(
        configuration: EngineConfiguration, store: Store, clock: any Clock, content: ContentStore,
        gate: RemoteGate, answers: OutdatedAnswers, lister: Lister, metadata: MetadataFetcher,
        wholeFileCheck: WholeFileCheck, changes: Signal
    ) {
        self.configuration = configuration
        self.store = store
        self.clock = clock
        self.content = content
        self.gate = gate
        self.answers = answers
        self.lister = lister
        self.metadata = metadata
        self.wholeFileCheck = wholeFileCheck
        self.changes = changes
    }

    /// Returns once the part of `range` that lies within the file is local.
    ///
    /// The first request for missing bytes has them fetched, with some that follow; others wait for
    /// the same. Each waits for its own bytes only. Bytes are fetched ahead of a reader as
    /// ``ReadPositions`` decides.
    ///
    /// - Throws: `ProviderError`, `EngineError`, `Blocked`.
    func materialise(
        _ inode: InodeNumber, _ range: Range<UInt64>, for reason: Space.FetchReason = .request
    ) async throws {
        let file = try content.retain(inode)
        defer { content.releaseUse(of: inode) }
        try await fetch(file, range, for: reason)
    }

    /// Fetches the missing bytes of a range, piece by piece.
    ///
    /// - Parameter isReader: Whether bytes are fetched ahead as well.
    func fetch(
        _ file: OpenFile, _ range: Range<UInt64>, for reason: Space.FetchReason,
        isReader: Bool = true
    ) async throws {
        let limits = content.space.cache.aheadLimits(hasRoom: true)
        while true {
            let now = clock.uptime
            let (claim, wantsMore) = file.state.withLock { state in
                if reason == .request || reason == .scan { state.reads.expect(range, at: now) }
                let bytes = pieceBytes(for: reason, range, state)
                let claim = Self.claim(range, pieceBytes: bytes, &state)
                // During a pause it would fail at once.
                let isResting = state.rest.map { now < $0.until } ?? false
                return (
                    claim,
                    reason == .request && !isResting && state.nextAhead(limits, at: now) != nil
                )
            }
            if isReader, wantsMore { content.readAhead.request(file) }
            switch claim {
            case .here: return
            case .elsewhere(let wait): try await self.wait(for: wait, of: range, file)
            case .ours(let claimed, let wait):
                guard let wait, let flight = beginFlight(of: claimed, file) else {
                    let piece = FetchedPiece(
                        claimed, of: file, for: reason, cache: content.space.cache)
                    guard try await fetch(piece, of: file) else { return }
                    continue
                }
                let piece = FetchedPiece(
                    claimed, of: file, for: reason, cache: content.space.cache, flight: flight)
                if !demanded.append(piece) { abandon(piece) }
                try await self.wait(for: wait, of: range, file)
                // The piece may have failed after these bytes had arrived.
                guard let failure = piece.failure,
                    !file.state.withLock({ $0.present.contains(wait.range) })
                else { continue }
                throw failure
            }
        }
    }

    /// Gives a claimed range a task of its own.
    ///
    /// - Returns: nil if the file has no user left that outlives this one.
    private func beginFlight(of range: Range<UInt64>, _ file: OpenFile) -> Flight? {
        guard content.files.retainToFetch(file.inode) != nil else { return nil }
        let now = clock.uptime
        return file.state.withLock { $0.beginFlight(of: range, at: now) }
    }

    private func wait(
        for wait: ByteWait, of range: Range<UInt64>, _ file: OpenFile
    ) async throws(EngineError) {
        await wait.wait()
        guard Task.isCancelled else { return }
        let now = clock.uptime
        let abandoned = file.state.withLock { $0.withdraw(wait, of: range, at: now) }
        for flight in abandoned { flight.abandon() }
        throw EngineError(.interrupted, "fetch bytes of inode \(file.inode)")
    }

    /// Returns how many bytes to fetch for a request at once; 0 for those that it asks for.
    private func pieceBytes(
        for reason: Space.FetchReason, _ range: Range<UInt64>, _ state: OpenFile.State
    ) -> UInt64 {
        let cache = content.space.cache
        switch reason {
        case .request: break
        case .scan: return scannedBytes(range, state)
        case .pin: return 0
        case .readahead, .change: return cache.fillBytes
        }
        // Of many requests, each gets its own bytes only.
        if cache.isCrowded { return 0 }
        // A small file comes as a whole; a reader of whom nothing is known yet, or ahead of whom nothing
        // can be fetched, gets more at once.
        let isStart = state.reads.isUnread && range.lowerBound == 0
        let isAlone = cache.isReadaheadPaused(at: clock.uptime) && state.reads.continues(range)
        let isMore = isStart || isAlone || state.size <= cache.demandBytes
        if isMore { return cache.demandBytes }
        // One round trip for all that it asks for.
        let asked = min(UInt64(range.count), cache.demandBytes)
        return max(asked, state.reads.randomBytes(range, max: cache.randomBytes))
    }

    /// Returns how many bytes to fetch for a program that reads many files in passing: those that it
    /// asks for, or as many again as it has read just before, so that small reads of a whole file do not
    /// take a request each.
    private func scannedBytes(_ range: Range<UInt64>, _ state: OpenFile.State) -> UInt64 {
        let start = range.lowerBound
        let cache = content.space.cache
        guard let missing = state.firstMissing(in: range)?.lowerBound, !cache.isCrowded else {
            return 0
        }
        let before = state.present.intersection(start - min(start, cache.randomBytes)..<start)
        guard let read = before.ranges.last, read.upperBound == start else {
            return range.upperBound - missing
        }
        return max(range.upperBound, start + UInt64(read.count)) - missing
    }

    /// Ends a piece that is not going to be begun.
    func abandon(_ piece: FetchedPiece) {
        piece.failure = EngineError(.interrupted, "fetch bytes of inode \(piece.file.inode)")
        end(piece)
    }

    private func end(_ piece: FetchedPiece) {
        // A request that waits for the last bytes finds the file not in use by this.
        if piece.flight != nil { content.releaseUse(of: piece.file.inode, isFetch: true) }
        piece.endFlight()
        changes.notify()
    }

    /// Fetches a claimed piece.
    ///
    /// - Returns: False if the cache has no room for it, which no request waits for.
    func fetch(_ piece: FetchedPiece, of file: OpenFile) async throws -> Bool {
        defer { end(piece) }
        do {
            try requireNoRest(of: file)
            guard try await admit(piece.range, of: file, for: piece.reason) else { return false }
            defer { content.space.endFetch(piece.takeReserved(), of: file) }
            try await fetchRest(of: piece, file)
            return true
        } catch {
            if let error = error as? ProviderError { noteRest(of: file, error) }
            piece.failure = error
            throw error
        }
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
        /// Others are fetching all missing bytes.
        case elsewhere(ByteWait)
        /// - Parameter wait: If the range has more bytes than are wanted.
        case ours(Range<UInt64>, wait: ByteWait?)
    }

    /// Decides which piece to fetch next for `range`, and claims it.
    private static func claim(
        _ range: Range<UInt64>, pieceBytes: UInt64, _ state: inout OpenFile.State
    ) -> Claim {
        let wanted = min(range.lowerBound, state.size)..<min(range.upperBound, state.size)
        if state.present.contains(wanted) { return .here }
        guard let free = state.firstMissing(in: wanted) else {
            let wait = ByteWait(wanted)
            state.waits.append(wait)
            return .elsewhere(wait)
        }
        // A small request also fetches the bytes likely to be needed next, up to those that are
        // local or in flight.
        let room = free.lowerBound..<min(state.size, free.lowerBound + pieceBytes)
        let absent = state.present.firstGap(in: room) ?? free
        let piece = state.inFlight.firstGap(in: absent) ?? free
        state.inFlight.insert(piece)
        guard piece.upperBound > wanted.upperBound else { return .ours(piece, wait: nil) }
        let wait = ByteWait(wanted.clamped(to: piece))
        state.waits.append(wait)
        return .ours(piece, wait: wait)
    }

    /// Fetches what is missing of a piece, from the version that both sides agreed on. Bytes count as
    /// local once the store has confirmed their version (I5).
    private func fetchRest(of piece: FetchedPiece, _ file: OpenFile) async throws {
        let inode = file.inode
        let (key, synced) = try store.readBriefly {
            (try $0.remoteKey(of: inode), try $0.synced(inode))
        }
        guard let key, let synced, let etag = synced.etag, piece.range.upperBound <= synced.size
        else {
            throw EngineError(
                .changedRemotely,
                "fetch \(piece.range.count) bytes at \(piece.range.lowerBound) of inode \(inode)",
                remedy: "the remote no longer has this version; open the file again")
        }
        let bytes = UInt64(piece.rest.count)
        try content.space.reserve(for: bytes, "fetch \(bytes) bytes")
        do throws(ProviderError) {
            try await read(piece, of: file, at: key, etag)
        } catch {
            if error.kind == .sink, (error.cause as? DiskError)?.kind == .full {
                content.space.noteRefusal()
                return try await fetchRest(of: piece, file)
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
        piece.finish()
        let isLastOfSeveral = file.state.withLock { state in
            if state.isWhole { state.file.expectHoles(false) }
            return state.isWhole && state.isUnchanged && UInt64(piece.range.count) < state.size
        }
        if isLastOfSeveral { wholeFileCheck.request(inode) }
    }

    /// Reads from the last known place; or, during a long move that is made object by object, from
    /// the destination.
    private func read(
        _ piece: FetchedPiece, of file: OpenFile, at key: ObjectKey, _ etag: ETag
    ) async throws(ProviderError) {
        do throws(ProviderError) {
            try await read(piece, at: key, etag)
        } catch {
            guard error.kind == .missing || error.kind == .changed,
                let ahead = try engineWork({ () throws(Blocked) in
                    try store.readBriefly { try $0.remoteKeyAhead(of: file.inode) }
                })
            else { throw error }
            do throws(ProviderError) {
                try await read(piece, at: ahead, etag)
            } catch let second {
                throw second.isPassing ? second : error
            }
        }
    }

    private func read(
        _ piece: FetchedPiece, at key: ObjectKey, _ etag: ETag
    ) async throws(ProviderError) {
        try takeFirstBytes(of: piece, etag)
        let rest = piece.begin()
        guard !rest.isEmpty else { return }
        let sink = CountingSink(sink: piece) { [fetched, clock, changes] in
            // On a slow line a piece takes long.
            if fetched.note($0, at: clock.uptime) { changes.notify() }
        }
        defer { note(sink.bytes, of: piece) }
        try await gate.read(key, range: rest, etag: etag, into: sink)
    }

    /// Takes the first bytes of a file if they came with its metadata.
    private func takeFirstBytes(of piece: FetchedPiece, _ etag: ETag) throws(ProviderError) {
        guard piece.rest.lowerBound == 0,
            let bytes = content.files.firstBytes.take(of: piece.file.inode, etag, at: clock.uptime)
        else { return }
        // The answer with all bytes of a file shows whether they have the checksum that the store keeps.
        let isAll = bytes.count >= piece.range.count
        let isChecked = gate.traits.keepsChecksums && !isAll
        if isChecked, piece.file.state.withLock({ piece.range.count == $0.size }) { return }
        let count = min(bytes.count, piece.range.count)
        do {
            piece.confirm(0..<UInt64(count))
            try bytes[..<count].withUnsafeBytes { try piece.write($0, at: 0) }
        } catch {
            throw ProviderError(.sink, "the bytes were refused: \(error)", cause: error)
        }
        if fetched.note(UInt64(count), at: clock.uptime) { changes.notify() }
        note(UInt64(count), of: piece)
    }

    private func note(_ bytes: UInt64, of piece: FetchedPiece) {
        guard bytes > 0 else { return }
        let isOwn = piece.reason == .pin || piece.reason == .change
        let (inode, now) = (piece.file.inode, clock.uptime)
        fetched.programs.withLock { ledger in
            let program = isOwn ? DownloadLedger.daemon : ledger.opener(of: inode)
            ledger.note(bytes, of: inode, for: program, at: now)
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
                file, awaited, for: access == .scan ? .scan : .request, isReader: access == .read)
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
