extension Engine {
    package var refreshes: RefreshRequests { RefreshRequests(engine: self) }
}

/// Requests of users to look at the remote now.
package struct RefreshRequests: Sendable {
    fileprivate let engine: Engine

    private var store: Store { engine.store }
    private var remote: RemoteParts { engine.remote }

    /// The number of directories that one refresh lists at the same time.
    private static var refreshesMax: Int { 8 }
    /// How often a directory is listed that is being moved meanwhile.
    private static var attemptsMax: Int { 3 }

    /// Has the first listing of a known directory since the start wait for the remote, shortly.
    ///
    /// - Throws: `.awaits`; nothing if a program has waited for that already.
    package func requireFirstLook(at directory: InodeNumber) throws(Blocked) {
        try remote.lister.requireFirstLook(at: directory)
    }

    /// Lets the first listings not wait, as the remote has not answered. Called before ``Engine/run()``.
    package func skipFirstLooks() {
        remote.lister.firstLooks.withLock { $0.skip(at: engine.clock.uptime) }
    }

    /// Asks a remote that is lost, or has refused the credentials, whether it answers or accepts them by now.
    package func probe() async {
        await remote.gate.probeRefusedCredentials()
        await remote.gate.probeLost()
    }

    /// Has a lost remote probed at once, as the network of this machine has changed.
    package func noteNetworkChange() {
        remote.gate.noteNetworkChange()
    }

    /// Lists the directories at and below an inode, and so applies the remote changes in them now. Those that
    /// were never listed are left out: their first use lists them. For an inode of another kind, the
    /// directory with its name is listed.
    ///
    /// - Parameter progress: Called with the number of directories that were listed.
    /// - Throws: `.unreachable` at once; another failure of a listing, the first one, after all others.
    package func refresh(
        below inode: InodeNumber, progress: @Sendable (Int) -> Void
    ) async throws(EngineError) {
        await probe()
        let start = try completed { () throws(Blocked) in
            try store.read { database in
                let record = try database.existingInode(inode)
                return record.kind == .directory
                    ? inode : try database.dirent(of: inode)?.parent ?? .root
            }
        }
        let outcome = await withTaskGroup(
            of: Result<[InodeNumber], EngineError>.self
        ) { group -> Result<Void, EngineError> in
            var (waiting, running, listed) = ([start], 0, 0)
            var result: Result<Void, EngineError> = .success(())
            while running > 0 || !waiting.isEmpty {
                while running < Self.refreshesMax, let next = waiting.popLast() {
                    group.addTask { [self] in await refreshOne(next, isStart: next == start) }
                    running += 1
                }
                guard let outcome = await group.next() else { break }
                running -= 1
                switch outcome {
                case .success(let children):
                    if inode == start { waiting += children }
                    listed += 1
                    progress(listed)
                case .failure(let error):
                    if case .success = result { result = .failure(error) }
                    if Task.isCancelled || error.kind == .unreachable {
                        group.cancelAll()
                        return .failure(error)
                    }
                }
            }
            return result
        }
        try outcome.get()
    }

    /// - Returns: The directories in it that were listed before.
    private func refreshOne(
        _ directory: InodeNumber, isStart: Bool
    ) async -> Result<[InodeNumber], EngineError> {
        do {
            try await listAnew(directory)
            return .success(try store.read { try $0.listedDirectories(in: directory) })
        } catch let error as ProviderError {
            // The listing of its parent has applied that it is gone.
            let isGone = error.kind == .missing || error.kind == .wrongKind
            return isGone && !isStart ? .success([]) : .failure(EngineError(error))
        } catch let error as EngineError {
            return .failure(error)
        } catch let blocked as Blocked {
            return .failure(blocked.failure)
        } catch {
            return .failure(EngineError(.interrupted, "list inode \(directory)"))
        }
    }

    private func listAnew(_ directory: InodeNumber) async throws {
        var attempts = 1
        while true {
            do {
                return try await remote.lister.listAnew(directory)
            } catch let error as ProviderError
                where error.kind == .busy && attempts < Self.attemptsMax
            {
                attempts += 1
                try await engine.clock.sleep(until: engine.clock.uptime + .seconds(1))
            }
        }
    }
}
