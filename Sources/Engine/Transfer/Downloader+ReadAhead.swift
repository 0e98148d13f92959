import Synchronization

/// Fetches bytes ahead of readers, several pieces of a file side by side.
extension Downloader {
    func run() async {
        await withDiscardingTaskGroup { group in
            // Requests wait for these pieces: they must not wait for the locks, and the disk, for which
            // the other task may wait.
            group.addTask { await self.fetchDemanded() }
            group.addTask { await self.fetchAhead() }
        }
    }

    private func fetchDemanded() async {
        await withDiscardingTaskGroup { group in
            while !Task.isCancelled {
                let notifications = demanded.signal.notifications
                for piece in demanded.takeAll() {
                    group.addTask {
                        await piece.flight?.whileWanted {
                            _ = try? await self.fetch(piece, of: piece.file)
                        }
                    }
                }
                await demanded.signal.wait(after: notifications)
            }
            for piece in demanded.close() { abandon(piece) }
            group.cancelAll()
        }
    }

    private func fetchAhead() async {
        let queue = content.readAhead
        await withDiscardingTaskGroup { group in
            while !Task.isCancelled {
                let notifications = queue.signal.notifications
                guard let inode = queue.next() else {
                    await queue.signal.wait(after: notifications)
                    continue
                }
                if let piece = claimAhead(of: inode) {
                    group.addTask {
                        await piece.flight?.whileWanted { await self.fetchAhead(piece) }
                    }
                } else {
                    queue.end(inode)
                }
            }
            group.cancelAll()
        }
    }

    /// Claims the next piece of a file for which ``ReadAheadQueue`` has a place.
    ///
    /// - Returns: nil if nothing is likely to be needed; the file has then left the queue.
    private func claimAhead(of inode: InodeNumber) -> FetchedPiece? {
        let cache = content.space.cache
        guard let file = content.files.retainToFetch(inode) else {
            content.files.existing(inode)?.state.withLock { $0.ahead.isQueued = false }
            return nil
        }
        let hasRoom = (try? content.space.hasRoom(for: cache.fillBytes)) ?? false
        let limits = cache.aheadLimits(hasRoom: hasRoom)
        let now = clock.uptime
        let piece = file.state.withLock { state -> (AheadPiece, Flight)? in
            let isPaused = cache.isReadaheadPaused(at: now) || now < state.rest?.until ?? .zero
            guard !isPaused, let next = state.nextAhead(limits, at: now) else {
                state.ahead.isQueued = false
                return nil
            }
            state.ahead.pieces += 1
            return (next, state.beginFlight(of: next.range, at: now))
        }
        guard let (piece, flight) = piece else {
            content.releaseUse(of: inode, isFetch: true)
            changes.notify()
            return nil
        }
        content.readAhead.append(inode)
        let windowBytes = piece.isFill ? nil : limits.windowBytes
        return FetchedPiece(
            piece.range, of: file, for: .readahead, cache: cache, flight: flight,
            windowBytes: windowBytes)
    }

    private func fetchAhead(_ piece: FetchedPiece) async {
        let file = piece.file
        let cache = content.space.cache
        var pause = Duration.zero
        do {
            if try await !fetch(piece, of: file) { cache.noteReadaheadRefused(at: clock.uptime) }
        } catch {
            // No request waits for it; the next read of these bytes meets the failure itself.
            if !piece.isUnwanted, !Task.isCancelled { pause = .seconds(1) }
        }
        let now = clock.uptime
        let limits = cache.aheadLimits(hasRoom: true)
        let wantsMore = file.state.withLock { state in
            state.ahead.pieces -= 1
            if pause > .zero { state.ahead.pausedUntil = now + pause }
            return state.nextAhead(limits, at: now) != nil
        }
        if wantsMore, !cache.isReadaheadPaused(at: now) { content.readAhead.request(file) }
        content.readAhead.end(file.inode)
    }
}
