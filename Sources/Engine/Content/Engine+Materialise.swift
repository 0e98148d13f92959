import Synchronization

extension Engine {
    /// The most that a request waits for in one piece, and the least that is fetched for it.
    static var demandBytes: UInt64 { 1 << 20 }
    /// What a filler fetches in one piece.
    private static var fillBytes: UInt64 { 4 << 20 }
    private static var fillersMax: Int { 8 }

    /// Returns once all of `range`, as far as it lies within the file, is here.
    ///
    /// Whoever needs bytes that nobody fetches yet fetches them itself; the others wait for them.
    /// The rest of the file follows by itself, as long as it is open.
    ///
    /// - Throws: `ProviderError`, `EngineError`.
    func materialise(_ inode: InodeNumber, _ range: Range<UInt64>) async throws {
        let file = try retainForTransfer(inode)
        defer { releaseUse(of: inode) }
        try await fetch(file, range, pieceBytes: Self.demandBytes, fillsRest: true)
    }

    /// Fetches what is missing of a range, piece by piece.
    ///
    /// - Parameter fillsRest: Whether the rest of the file follows in the background, which takes
    ///   what this leaves.
    func fetch(
        _ file: OpenFile, _ range: Range<UInt64>, pieceBytes: UInt64, fillsRest: Bool = false
    ) async throws {
        while true {
            let rings = file.arrivals.rings
            let claim = file.state.withLock { Self.claim(range, pieceBytes: pieceBytes, &$0) }
            if fillsRest { requestFilling(file) }
            switch claim {
            case .here: return
            case .elsewhere:
                await file.arrivals.wait(after: rings)
                if Task.isCancelled {
                    throw EngineError(.interrupted, "fetch bytes of inode \(file.inode)")
                }
            case .ours(let piece):
                defer {
                    file.state.withLock { $0.inFlight.remove(piece) }
                    file.arrivals.ring()
                    changeBell.ring()
                }
                try requireNoRest(of: file)
                do {
                    try await fetchPiece(piece, of: file)
                } catch let error as ProviderError {
                    noteRest(of: file, error)
                    throw error
                }
            }
        }
    }

    /// Whoever reads a file leaves the store alone for as long as it has asked another reader to.
    private func requireNoRest(of file: OpenFile) throws(ProviderError) {
        guard let (until, reason) = file.state.withLock({ $0.rest }), clock.uptime < until
        else { return }
        throw ProviderError(
            reason.kind, attempt: reason.attempt, reason: reason.reason, remedy: reason.remedy,
            retryAfter: until - clock.uptime, cause: reason)
    }

    /// For no longer than a request may wait: who comes later may ask for himself.
    private func noteRest(of file: OpenFile, _ error: ProviderError) {
        guard error.isPassing, let delay = error.retryAfter else { return }
        let until = clock.uptime + min(delay, configuration.requestDeadline)
        file.state.withLock { $0.rest = (until, error) }
    }

    private enum Claim {
        case here
        /// Others fetch all that is missing.
        case elsewhere
        case ours(Range<UInt64>)
    }

    /// Decides which piece to fetch next for `range`, and claims it.
    private static func claim(
        _ range: Range<UInt64>, pieceBytes: UInt64, _ state: inout OpenFile.State
    ) -> Claim {
        let wanted = min(range.lowerBound, state.size)..<min(range.upperBound, state.size)
        let missing = state.present.gaps(in: wanted)
        guard !missing.isEmpty else { return .here }
        for gap in missing {
            guard let free = state.inFlight.firstGap(in: gap) else { continue }
            // A request for a little fetches what is likely to be asked for next, up to what is
            // here or under way.
            let room = free.lowerBound..<min(state.size, free.lowerBound + pieceBytes)
            let absent = state.present.firstGap(in: room) ?? free
            let piece = state.inFlight.firstGap(in: absent) ?? free
            state.inFlight.insert(piece)
            return .ours(piece)
        }
        return .elsewhere
    }

    /// Fetches one piece of the version that both sides agreed on. It counts as here only once the
    /// store has given all of it and vouched for its version (I5).
    private func fetchPiece(_ piece: Range<UInt64>, of file: OpenFile) async throws {
        let inode = file.inode
        let located = try store.read { database -> (ObjectKey, SyncedRecord)? in
            guard let synced = try database.synced(inode),
                let key = try database.remoteKey(of: inode)
            else { return nil }
            return (key, synced)
        }
        guard let (key, synced) = located, let etag = synced.etag, piece.upperBound <= synced.size
        else {
            throw EngineError(
                .changedRemotely,
                "fetch \(piece.count) bytes at \(piece.lowerBound) of inode \(inode)",
                remedy: "the remote no longer has this version; open the file again")
        }
        try makeRoom(for: piece)
        do throws(ProviderError) {
            try await read(piece, of: file, at: key, etag)
            noteReachable()
        } catch {
            if error.kind == .sink, (error.cause as? DiskError)?.kind == .full {
                room.withLock { $0.refuse() }
                return try await fetchPiece(piece, of: file)
            }
            noteFailure(error)
            #if BUGS
                if DeliberateBug.serveDamagedBytes.isMade, error.kind == .corrupt {
                    return file.state.withLock { $0.present.insert(piece) }
                }
            #endif
            if error.kind == .changed || error.kind == .missing || error.kind == .wrongKind {
                if try isOutdated(inode, askedAt: key, etag: etag) {
                    try settleDoubt(atOrAbove: inode)
                    throw ProviderError(outdated: error)
                }
                // What is here is no longer what the remote has; find out what that is.
                await refreshQuietly(synced.parent)
            }
            if error.kind == .wrongKind {
                // It may always have been a link, which a listing need not tell from a file.
                _ = try await lookAtDetails(of: inode)
                throw ProviderError(
                    .changed, attempt: error.attempt, reason: error.reason, cause: error)
            }
            throw error
        }
        file.state.withLock { $0.present.insert(piece) }
    }

    /// Reads from where the file was last seen; or, amid a move that is made object by object and
    /// may take long, from where that has put it.
    private func read(
        _ piece: Range<UInt64>, of file: OpenFile, at key: ObjectKey, _ etag: ETag
    ) async throws(ProviderError) {
        do throws(ProviderError) {
            try await provider.read(key, range: piece, etag: etag, into: ContentSink(file: file))
        } catch {
            guard error.kind == .missing || error.kind == .changed,
                let ahead = try engineWork({ () throws(Halt) in
                    try store.read { try $0.remoteKeyAhead(of: file.inode) }
                })
            else { throw error }
            do throws(ProviderError) {
                try await provider.read(
                    ahead, range: piece, etag: etag, into: ContentSink(file: file))
            } catch let second {
                throw second.isPassing ? second : error
            }
        }
    }

    private func makeRoom(for piece: Range<UInt64>) throws(EngineError) {
        do throws(Halt) {
            try requireRoom(for: UInt64(piece.count), "fetch \(piece.count) bytes")
        } catch {
            throw error.failure
        }
    }

    // MARK: The rest of the file

    /// Has the rest of a file fetched in the background, if some of it is not here.
    func requestFilling(_ file: OpenFile) {
        let isNew = file.state.withLock { state in
            guard !state.isFilling, state.stored != .whole, !state.isWhole else { return false }
            state.isFilling = true
            return true
        }
        guard isNew else { return }
        let isQueued = fillQueue.withLock { queue in
            // More files than anybody reads at a time: the others are fetched as they are read.
            guard queue.count < 1_024 else { return false }
            queue.append(file.inode)
            return true
        }
        guard isQueued else { return file.state.withLock { $0.isFilling = false } }
        fillBell.ring()
    }

    func runFillers() async {
        await withTaskGroup(of: Void.self) { group in
            var running = 0
            while !Task.isCancelled {
                let rings = fillBell.rings
                let next = fillQueue.withLock { $0.isEmpty ? nil : $0.removeFirst() }
                guard let next else {
                    await fillBell.wait(after: rings)
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

    /// Fetches the rest of a file for as long as somebody has it open.
    private func fill(_ inode: InodeNumber) async {
        while !Task.isCancelled, let file = files.existing(inode) {
            let next = file.state.withLock { state -> Range<UInt64>? in
                for gap in state.present.gaps(in: 0..<state.size) {
                    if let free = state.inFlight.firstGap(in: gap) { return free }
                }
                return nil
            }
            guard let next else {
                file.state.withLock { $0.isFilling = false }
                return
            }
            do {
                let use = try retainForTransfer(inode)
                defer { releaseUse(of: inode) }
                let end = min(next.upperBound, next.lowerBound + Self.fillBytes)
                try await fetch(use, next.lowerBound..<end, pieceBytes: Self.fillBytes)
            } catch {
                // Nobody waits for it; the next read that needs the bytes meets the failure itself.
                file.state.withLock { $0.isFilling = false }
                changeBell.ring()
                return
            }
        }
    }

    /// ``retain(_:)`` for asynchronous callers.
    func retainForTransfer(_ inode: InodeNumber) throws(EngineError) -> OpenFile {
        do throws(Halt) {
            return try retain(inode)
        } catch {
            throw error.failure
        }
    }
}

extension Halt {
    /// The failure, for callers that need nothing from the network.
    var failure: EngineError {
        switch self {
        case .failure(let error): return error
        case .awaits(let need): preconditionFailure("\(need) is needed where nothing may wait")
        }
    }
}

/// Puts bytes that arrive into a content file, but for those that somebody wrote meanwhile.
private struct ContentSink: ByteSink {
    let file: OpenFile

    func write(_ bytes: UnsafeRawBufferPointer, at offset: UInt64) throws {
        try file.state.withLock { state in
            for gap in state.present.gaps(in: offset..<(offset + UInt64(bytes.count))) {
                let part = Int(gap.lowerBound - offset)..<Int(gap.upperBound - offset)
                try state.file.write(
                    UnsafeRawBufferPointer(rebasing: bytes[part]), at: gap.lowerBound)
            }
            // Fetching is no change of a file that somebody is writing.
            if state.isMarkedWriting { try state.file.setModified(state.modified) }
        }
    }
}
