import Logging

extension Engine {
    /// Runs an operation to completion, fetching missing data in between.
    ///
    /// - Parameter need: Fetched before the first run, if the caller knows from a run of its own
    ///   that the operation needs it.
    /// - Parameter cancel: Cancels the calling task, for the deadline of a need. Without it, each
    ///   need is met in a task of its own.
    /// - Throws: The operation's failure; `.unreachable` if a need cannot be met within the
    ///   deadline, or at once while the remote is out of reach, as
    ///   ``EngineConfiguration/offline`` says; `.interrupted` if the task is cancelled.
    package func retrying<Value>(
        startingWith need: MissingData? = nil, cancel: (@Sendable () -> Void)? = nil,
        _ operation: () throws(Blocked) -> Value
    ) async throws(EngineError) -> Value {
        let start = clock.uptime
        var known = need
        var isLate = false
        while true {
            do throws(Blocked) {
                if let need = known.take() { throw .awaits(need) }
                return try operation()
            } catch {
                switch error {
                case .failure(let failure): throw failure
                case .awaits(.look(let inode)) where Task.isCancelled:
                    // Interrupted by a signal: the operation may do without the metadata.
                    remote.metadata.beginBackoff(at: inode)
                case .awaits(let need):
                    // Also if the need was met repeatedly without success.
                    guard !isLate, clock.uptime < remote.offline.deadline(since: start) else {
                        throw late(need)
                    }
                    if Task.isCancelled { throw EngineError(.interrupted, "wait for \(need)") }
                    isLate = try await satisfyInTime(need, since: start, cancel: cancel)
                }
            }
        }
    }

    /// Returns at the deadline, even if the remote neither answers nor fails. While the pages of a listing
    /// bring new entries, that is not before ``EngineConfiguration/listingDeadline``; the listing itself
    /// continues.
    ///
    /// - Returns: Whether the deadline has passed. The need may have been met at that very moment.
    private func satisfyInTime(
        _ need: MissingData, since start: Duration, cancel: (@Sendable () -> Void)?
    ) async throws(EngineError) -> Bool {
        let executor = withUnsafeCurrentTask { $0?.unownedTaskExecutor?.asTaskExecutor() }
        let task =
            if cancel == nil {
                Task(executorPreference: executor) { [self] in
                    await outcome(of: need, since: start)
                }
            } else {
                nil as Task<Result<Void, EngineError>, Never>?
            }
        let last = clock.uptime + configuration.listingDeadline
        let (result, isLate) = await remote.deadlines.limiting(
            to: remote.offline.deadline(since: start),
            extend: { [self] in extendedDeadline(of: need, since: start, until: last) },
            cancel: cancel ?? { task?.cancel() }
        ) {
            guard let task else { return await outcome(of: need, since: start) }
            return await withTaskCancellationHandler {
                await task.value
            } onCancel: {
                task.cancel()
            }
        }
        if !isLate { try result.get() }
        return isLate
    }

    private func outcome(
        of need: MissingData, since start: Duration
    ) async -> Result<Void, EngineError> {
        do throws(EngineError) {
            return .success(try await satisfy(need, since: start))
        } catch {
            return .failure(error)
        }
    }

    private func late(_ need: MissingData) -> EngineError {
        EngineError(.unreachable, "wait for \(need)", remedy: "check the connection to the remote")
    }

    /// Returns the extended deadline of a listing with recent progress, or after an outage.
    private func extendedDeadline(
        of need: MissingData, since start: Duration, until last: Duration
    ) -> Duration? {
        let deadline = remote.offline.deadline(since: start)
        if deadline > clock.uptime { return deadline }
        let directory: InodeNumber
        switch need {
        case .listing(let listed): directory = listed
        case .name(_, let parent): directory = parent
        default: return nil
        }
        guard let flight = remote.lister.listings.flight(of: directory) else { return nil }
        let extended = min(flight.progress + configuration.requestDeadline, last)
        return extended > clock.uptime ? extended : nil
    }

    /// Fetches the data that an operation needs, with retries while the remote is unreachable.
    private func satisfy(_ need: MissingData, since start: Duration) async throws(EngineError) {
        var backoff = Backoff(first: .milliseconds(200), longest: .seconds(5))
        while true {
            guard let failure = try await failure(toFetch: need) else { return }
            if Task.isCancelled || failure.kind == .cancelled {
                throw EngineError(.interrupted, failure.attempt)
            }
            if try await remote.offline.waitOut(failure) { continue }
            // If the store asks for more time than is left, the request fails at once.
            var next = clock.uptime + max(backoff.next(random), failure.retryAfter ?? .zero)
            guard failure.isPassing, !failure.isOfLocalDisk,
                next < remote.offline.deadline(since: start)
            else { throw EngineError(failure) }
            if let end = remote.offline.patienceEnd(with: failure) { next = min(next, end) }
            logger.debug(
                "request waiting for the remote",
                metadata: ["attempt": "\(failure.attempt)", "reason": "\(failure.reason)"])
            guard (try? await clock.sleep(until: next)) != nil else {
                throw EngineError(.interrupted, failure.attempt)
            }
        }
    }

    /// Fetches the data that an operation needs.
    ///
    /// - Returns: The remote's failure; nil if the data is local now.
    /// - Throws: `.interrupted`, and failures of this machine.
    private func failure(
        toFetch need: MissingData
    ) async throws(EngineError) -> ProviderError? {
        do {
            switch need {
            case .listing(let directory):
                remote.walks.noteNeed(of: directory)
                try await remote.lister.list(directory)
            case .firstLook(let directory): await remote.lister.awaitFirstLook(at: directory)
            case .name(let name, let directory):
                remote.walks.noteNeed(of: directory)
                try await remote.names.find(name, in: directory)
            case .content(let inode, let range):
                try await transfer.downloader.materialise(inode, range)
            case .scanned(let inode, let range):
                try await transfer.downloader.materialise(inode, range, for: .scan)
            case .details(let inode):
                guard try await remote.metadata.fetchMetadata(of: inode) else {
                    throw ProviderError(
                        .busy, attempt: "fetch the metadata of inode \(inode)",
                        reason: "it is being moved or changed")
                }
            case .look(let inode): await remote.metadata.awaitMetadata(at: inode)
            case .version(let inode, let access):
                try await transfer.downloader.awaitVersion(of: inode, for: access)
            case .copy(let inode, let range):
                await local.content.snapshots.preserve(inode, range)
            }
            return nil
        } catch let error as ProviderError {
            return error
        } catch is CancellationError {
            throw EngineError(.interrupted, "wait for \(need)")
        } catch {
            throw EngineError.contained(in: error)
                ?? EngineError(.failed, "fetch the data for a request", cause: error)
        }
    }
}
