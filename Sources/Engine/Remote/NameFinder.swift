/// Finds a name in a directory that was never listed.
///
/// The directory's listing answers for all its names, but may take minutes. Once it has taken
/// longer than ``headStart``, a question for the one name goes ahead of it. If listings lack metadata, which
/// a lookup needs too, the question is asked at once, beside the listing. An object found so is
/// merged like a page of the listing; a missing one is not remembered.
struct NameFinder: Sendable {
    let store: Store
    let clock: any Clock
    let gate: RemoteGate
    let activity: RemoteActivity
    let answers: OutdatedAnswers
    let lister: Lister
    let merger: Merger
    let places = QuestionPlaces()

    /// The duration of a listing that costs no further request; and how much longer than the listing a
    /// question may take that was asked beside it.
    static var headStart: Duration { .milliseconds(200) }

    /// Whether a name of a listing is followed by a request for its metadata, see ``MetadataFetcher``.
    private var needsMetadata: Bool {
        !gate.traits.listsMetadata && !gate.traits.trustsListings
    }

    private enum Outcome: Sendable {
        case listed(Result<Void, any Error>)
        case answered(NameAnswer)
    }

    /// Returns once the name, or the whole directory, is known.
    ///
    /// - Throws: `.notFound` if the remote has no such name; otherwise as ``Lister/list(_:)``.
    func find(_ name: FileName, in directory: InodeNumber) async throws {
        guard let record = try store.read({ try $0.inode(directory) }), !record.isListed else {
            return
        }
        let flight = lister.listings.request(directory, at: clock.uptime)
        if !needsMetadata {
            await flight.completion.wait(
                after: 0, until: flight.begin + Self.headStart, on: clock)
        }
        guard flight.completion.notifications == 0, !Task.isCancelled else {
            return try await lister.listings.awaitEnd(of: flight, for: directory, on: clock)
        }
        let end = await firstEnd(of: flight, name, in: directory)
        switch end {
        case .listed(let result): try result.get()
        case .answered(.absent):
            throw EngineError(.notFound, "find \"\(name)\" in inode \(directory)")
        case .answered: break
        }
    }

    /// Asks for the name beside a listing.
    ///
    /// - Returns: The outcome that came first; a failure only if both failed.
    private func firstEnd(
        of flight: ListingQueue.Flight, _ name: FileName, in directory: InodeNumber
    ) async -> Outcome {
        let isAsked = Locked(false)
        return await withTaskGroup(of: Outcome.self) { group in
            group.addTask { .listed(await outcome(of: flight, for: directory)) }
            group.addTask { .answered(await ask(for: name, in: directory, noting: isAsked)) }
            defer { group.cancelAll() }
            var end = Outcome.answered(.unclear)
            while let outcome = await group.next() {
                switch (outcome, end) {
                case (.answered(.unclear), .listed(.success)): return end
                case (.answered(.unclear), _): isAsked.withLock { $0 = false }
                // The answer may still come.
                case (.listed(.failure), _): end = outcome
                case (.listed(.success), .answered)
                where isAsked.withLock({ $0 }) && lacksMetadata(name, in: directory):
                    // The same would be asked again.
                    end = outcome
                    group.addTask {
                        try? await clock.sleep(until: clock.uptime + Self.headStart)
                        return outcome
                    }
                case (.listed(.success), _), (.answered, _): return outcome
                }
            }
            return end
        }
    }

    private func lacksMetadata(_ name: FileName, in directory: InodeNumber) -> Bool {
        let isKnown = try? store.readBriefly {
            try $0.inode(named: name, in: directory)?.hasMetadata
        }
        return needsMetadata && isKnown == false
    }

    private func outcome(
        of flight: ListingQueue.Flight, for directory: InodeNumber
    ) async -> Result<Void, any Error> {
        do {
            return .success(
                try await lister.listings.awaitEnd(of: flight, for: directory, on: clock))
        } catch {
            return .failure(error)
        }
    }

    /// - Parameter isAsked: Set once the question has a place.
    /// - Returns: `.unclear` after a failure too: the listing decides.
    private func ask(
        for name: FileName, in directory: InodeNumber, noting isAsked: Locked<Bool>
    ) async -> NameAnswer {
        guard let key = try? store.read({ try $0.remoteKey(of: directory) }) else {
            return .unclear
        }
        guard await places.take(for: directory) else { return .unclear }
        defer { places.free(for: directory) }
        isAsked.withLock { $0 = true }
        let watch = activity.watch(key)
        defer { activity.end(watch) }
        let question = ListingMerge(
            directory: directory, key: key, activity: activity, watch: watch,
            names: gate.traits.names)
        let object: RemoteObject?
        do throws(ProviderError) {
            let found = try await gate.stat(key.appending(name))
            let isHidden = lister.configuration.exclusions.contain(
                key.names + [name], isDirectory: found.kind == .directory)
            object = isHidden ? nil : found
        } catch {
            guard error.kind == .missing else { return .unclear }
            object = nil
        }
        let answer = try? merger.merge { try $0.take(object, named: name, question) }
        if answer == .unclear { try? answers.settleDoubt(atOrAbove: directory) }
        return answer ?? .unclear
    }
}
