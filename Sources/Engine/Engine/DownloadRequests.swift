extension Engine {
    package var downloads: DownloadRequests { DownloadRequests(engine: self) }
}

/// Requests of users to fetch files now, without keeping them.
package struct DownloadRequests: Sendable {
    fileprivate let engine: Engine

    var store: Store { engine.store }
    var downloader: Downloader { engine.transfer.downloader }
    private var pins: Pins { engine.local.pins }

    /// The files fetched side by side: so few that the requests of programs find a place at the remote.
    private static var filesMax: Int { 2 }
    /// The number of failures after which the rest is left alone.
    private static var failuresMax: Int { 20 }

    package enum Outcome: Sendable {
        /// Nothing was fetched, as not all of the files fit into the cache.
        case excess(PinExcess)
        /// All other files are here.
        case done(failures: [PinStatus.Failure])
    }

    /// Fetches all bytes of the files at and below some inodes; directories that are not listed are listed
    /// first. The bytes may be evicted afterwards, as those that programs have read.
    ///
    /// - Parameter report: Receives the sums of these inodes while they are counted and fetched.
    /// - Throws: `.notFound`, and errors of a listing; `.interrupted` if the task is cancelled.
    package func download(
        _ inodes: [InodeNumber], report: @escaping @Sendable (PinSums) -> Void
    ) async throws(EngineError) -> Outcome {
        let inodes = try completed { () throws(Blocked) in
            try store.read { try $0.roots(of: inodes) }
        }
        try await engine.pins.list(atAndBelow: inodes, report)
        let sums = try engine.pins.sums(atAndBelow: inodes)
        let bytesMax = try completed { () throws(Blocked) in
            try engine.local.space.bound()
        }
        if sums.bytes > bytesMax {
            return .excess(PinExcess(bytes: sums.bytes, bytesMax: bytesMax))
        }
        report(sums)
        let state = Locked(Progress(sums: sums))
        var walk = PinWalk(inodes)
        while let step = try completed(do: pins.next(&walk)) {
            guard case .files(let files) = step else { continue }
            var page = PinSums()
            await fetch(pins.add(files, to: &page), state, report)
            if Task.isCancelled { throw EngineError(.interrupted, "download files") }
            if state.withLock(\.isHopeless) { break }
        }
        return .done(failures: state.withLock(\.failures))
    }

    private struct Progress {
        var sums: PinSums
        var failures: [PinStatus.Failure] = []

        var isHopeless: Bool { failures.count >= failuresMax }
    }

    private func fetch(
        _ files: [PinnedFile], _ state: Locked<Progress>,
        _ report: @escaping @Sendable (PinSums) -> Void
    ) async {
        await withDiscardingTaskGroup { group in
            let waiting = Locked(files[...])
            for _ in 0..<Self.filesMax {
                group.addTask {
                    while !Task.isCancelled, !state.withLock(\.isHopeless),
                        let file = waiting.withLock({ $0.popFirst() })
                    {
                        await fetch(file, state, report)
                    }
                }
            }
        }
    }

    private func fetch(
        _ file: PinnedFile, _ state: Locked<Progress>, _ report: @Sendable (PinSums) -> Void
    ) async {
        do {
            _ = try await downloader.fetchWhole(
                file, while: { true },
                arrived: { bytes in
                    report(
                        state.withLock { state in
                            state.sums.bytesMissing -= min(state.sums.bytesMissing, bytes)
                            return state.sums
                        })
                })
            report(
                state.withLock { state in
                    state.sums.filesMissing -= min(state.sums.filesMissing, 1)
                    return state.sums
                })
        } catch {
            note(error, of: file.inode, state)
        }
    }

    /// Records a failure, unless the file is gone or the request ends.
    private func note(_ error: any Error, of inode: InodeNumber, _ state: Locked<Progress>) {
        guard !Task.isCancelled,
            let path = try? engine.store.read({ database -> ObjectKey? in
                guard try database.dirent(of: inode) != nil else { return nil }
                return ObjectKey(try database.path(of: inode))
            })
        else { return }
        state.withLock {
            $0.failures.append(
                PinStatus.Failure(path: path.description, reason: SyncFailure(error)))
        }
    }
}
